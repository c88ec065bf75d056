internal import CCrashCapture
internal import SystemPackage

/// One asynchronous signal, as its handler saw it.
public struct SignalEvent: Sendable {
    /// The signal's number.
    public let signal: CInt
    /// `si_code`: 0 for kill(2), negative for other senders, positive for the kernel.
    public let code: CInt
    /// The sending process, 0 if the kernel sent it.
    public let senderPid: CInt
    /// The sending user.
    public let senderUid: UInt32
    /// The value that sigqueue(3) carried, else 0.
    public let value: Int64
    /// When it arrived, in nanoseconds since 1970.
    public let unixNanoseconds: Int64
}

/// Asynchronous signals as events on a descriptor.
public enum SignalEvents {
    /// Catches a signal from now on and writes to `descriptor`, an eventfd, for each that arrives.
    ///
    /// - Throws: `CrashCaptureError` with the code `signal` for faults, SIGKILL and SIGSTOP.
    public static func observe(_ signal: CInt, on descriptor: CInt) throws(CrashCaptureError) {
        let error = hf_signal_observe(signal, descriptor)
        guard error == 0 else { throw CrashCaptureError(.signal, Errno(rawValue: error)) }
    }

    /// Takes the oldest event.
    ///
    /// For one thread at a time.
    public static func next() -> SignalEvent? {
        var event = HFSignalEvent()
        guard unsafe hf_signal_next(&event) else { return nil }
        return SignalEvent(
            signal: event.signal,
            code: event.code,
            senderPid: event.sender_pid,
            senderUid: event.sender_uid,
            value: event.value,
            unixNanoseconds: event.time_unix_nanoseconds
        )
    }

    /// Lets signals through that the process before this one held back for it, as bits.
    ///
    /// Call it when their observers are in place; those of observed ones are let through by `observe`.
    public static func release(_ signals: UInt64) {
        hf_signal_release(signals)
    }

    /// How many signals found the ring full since the last call.
    public static func takeDropped() -> UInt64 {
        hf_signal_take_dropped()
    }
}
