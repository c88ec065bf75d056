internal import CCrashCapture
internal import Glibc
internal import SystemPackage

/// One asynchronous signal, as its handler saw it.
///
/// For the codes of kill(2), the sender is what the kernel knows. For other codes it is what the sender claims: a process of the same user
/// may send any value and any negative code (rt_sigqueueinfo(2)).
public struct SignalEvent: Sendable, Hashable {
    /// The signal's number.
    public let signal: CInt
    /// `si_code`: 0 for kill(2), negative for other senders, positive for the kernel.
    package let code: CInt
    /// The sending process, 0 if the kernel sent it; for SIGCHLD the child.
    public let senderPid: CInt
    /// The sending user.
    public let senderUid: UInt32
    /// The value that sigqueue(3), a timer or a message queue carried, else 0.
    public let value: Int64
    /// For SIGCHLD an exit status or a signal, as the code says (`CLD_EXITED` and so on), else 0.
    ///
    /// The kernel keeps one SIGCHLD for any number of children: wait for all of them that have ended.
    package let status: CInt
    /// For a timer (`SI_TIMER`): the expirations that this signal stands for beside its own.
    package let timerOverrun: CInt
    /// For a signal about a descriptor (fcntl(2), `F_SETSIG`): which one.
    package let descriptor: CInt?
    /// The events of that descriptor, in the form of poll(2).
    package let descriptorEvents: CInt
    /// Signals of this number that came before this one and found no room: 4,096 wait at most.
    public let lost: UInt64
    /// Whether this is no signal, but tells only how many were lost after the last one.
    public let isCountOnly: Bool
    /// Whether the process before this one took it, and was replaced before it had ended: SIGTERM and SIGINT.
    public let isRepeated: Bool
    /// When it arrived, in nanoseconds since 1970.
    package let unixNanoseconds: Int64

    /// The value as the `sival_int` of sigqueue(3); the other half is undefined.
    package var intValue: Int32 { Int32(truncatingIfNeeded: value) }
}

/// Asynchronous signals as events on a descriptor.
///
/// For one thread, which also takes the events. Real-time signals keep their order only if that thread alone takes them: any other thread
/// that does not block them may get one at the same time (signal(7)).
package enum SignalEvents {
    /// Catches a signal from now on and writes to `descriptor`, an eventfd, for each that arrives.
    ///
    /// Unblocks the signal on the calling thread, and on threads that it makes from now on. In a forked child the former action is in
    /// force.
    ///
    /// - Throws: `CrashCaptureError` with the code `signal` for faults, SIGKILL, SIGSTOP, and the C library's own.
    package static func observe(_ signal: CInt, on descriptor: CInt) throws(CrashCaptureError) {
        if let obstacle = obstacle(to: signal) { throw CrashCaptureError(.signal, detail: obstacle) }
        let error = hf_signal_observe(signal, descriptor)
        guard error == 0 else { throw CrashCaptureError(.signal, Errno(rawValue: error)) }
    }

    /// Restores the action and the mask from before `observe`, unless somebody else took the signal meanwhile.
    ///
    /// When it returns, nothing writes to the descriptor any more. `next` still takes events that wait.
    package static func stop(_ signal: CInt) {
        hf_signal_stop(signal)
    }

    /// Restores the former action of every observed signal, until `takeUp`: while nobody takes the events.
    ///
    /// Signals that wait are sent once more. Not while another thread observes a signal, stops, or takes events.
    package static func giveUp() {
        hf_signal_give_up()
        while let event = next() {
            if !event.isCountOnly { kill(getpid(), event.signal) }
        }
    }

    /// Undoes `giveUp`.
    package static func takeUp() {
        hf_signal_take_up()
    }

    /// Lets a signal do nothing until `restore`, without ignoring it: execve(2) would hand on an ignored signal.
    ///
    /// - Throws: `CrashCaptureError` with the code `signal`.
    package static func discard(_ signal: CInt) throws(CrashCaptureError) {
        let error = hf_signal_discard(signal)
        guard error == 0 else { throw CrashCaptureError(.signal, Errno(rawValue: error)) }
    }

    /// Restores the action from before `discard`.
    package static func restore(_ signal: CInt) {
        hf_signal_restore(signal)
    }

    /// Why a signal cannot be observed, and what to do instead.
    static func obstacle(to signal: CInt) -> String? {
        switch hf_signal_obstacle(signal) {
        case .none: nil
        case .fault:
            "signal \(signal) is a fault, and captured: onFault tells of those that are resumed, reports of all"
        case .kernel: "SIGKILL and SIGSTOP reach no process; observe SIGTERM or SIGTSTP"
        case .library:
            "signal \(signal) is the C library's own; real-time signals begin at SIGRTMIN, \(__libc_current_sigrtmin())"
        case .samples:
            "signal \(signal) is what other threads are sampled by after a fault; capturesThreads = false leaves it to you"
        case .noSignal: "there is no signal \(signal); numbers are 1 to 64"
        }
    }

    /// Takes the oldest event.
    ///
    /// For one thread at a time.
    package static func next() -> SignalEvent? {
        var event = HFSignalEvent()
        guard unsafe hf_signal_next(&event) else { return nil }
        return SignalEvent(
            signal: event.signal,
            code: event.code,
            senderPid: event.sender_pid,
            senderUid: event.sender_uid,
            value: event.value,
            status: event.status,
            timerOverrun: event.overrun,
            descriptor: event.descriptor < 0 ? nil : event.descriptor,
            descriptorEvents: event.descriptor_events,
            lost: event.lost,
            isCountOnly: event.is_count_only,
            isRepeated: event.is_repeated,
            unixNanoseconds: event.time_unix_nanoseconds
        )
    }

    /// Unblocks the observed signals on the calling thread again: an abandoned callout may have blocked them for a while.
    ///
    /// For the thread that observes.
    package static func letThrough() {
        hf_signal_let_through()
    }

    /// Whether a signal is an order to end: SIGTERM or SIGINT.
    ///
    /// An order that was taken comes again in the next process if this one is restarted within 90 seconds and before it has ended.
    package static func isOrder(_ signal: CInt) -> Bool { hf_signal_is_order(signal) }

    /// The order to end that the process still has to carry out: one that waits, or that was taken within the last 90 seconds.
    package static var dueOrder: CInt? {
        let order = hf_signal_due_order()
        return order == 0 ? nil : order
    }

    /// The order to end that the program has taken itself within the last 90 seconds, and carries out in its own way.
    ///
    /// By a handler of its own, a signal source of libdispatch's, a descriptor of signals, or sigwait(3). No fault restarts the process then.
    package static var ownOrder: CInt? {
        let order = hf_signal_own_order()
        return order == 0 ? nil : order
    }

    /// Ends the process by the default action of an order to end.
    package static func end(by order: CInt) -> Never {
        hf_signal_end_by(order)
    }

    /// Forgets the orders that were taken: the process has carried them out, or wants a restart.
    package static func settleOrders() {
        hf_signal_settle_orders()
    }

    /// Unblocks signals that the process before this one held back for it, as bits.
    ///
    /// Call it when their observers are in place; `observe` unblocks those of observed ones.
    package static func release(_ signals: UInt64) {
        hf_signal_release(signals)
    }
}
