import CLinuxShims
public import SystemPackage

/// A timer of the kernel as a descriptor: a timerfd on the monotonic clock.
///
/// It is exact. The time limit of `epoll_wait` is not: the kernel may exceed it by the timer slack of the thread or a thousandth of the
/// wait, whichever is more (linux/fs/select.c, `select_estimate_accuracy`).
public struct TimerDescriptor: ~Copyable, Sendable {
    private let descriptor: OwnedDescriptor

    /// Makes a timer that is not set, nonblocking and closed on exec.
    ///
    /// The corresponding C function is `timerfd_create`.
    ///
    /// - Throws: The error of the call: `EMFILE`, `ENFILE`, `ENODEV` or `ENOMEM`.
    public init() throws(Errno) {
        let number = try SystemCall.checked { hf_timerfd_create() }
        descriptor = OwnedDescriptor(takingOver: number)
    }

    /// The number of the descriptor.
    public var rawValue: CInt { descriptor.rawValue }

    /// Sets the timer: the descriptor becomes readable once, at the time.
    ///
    /// The corresponding C function is `timerfd_settime` with `TFD_TIMER_ABSTIME`.
    ///
    /// - Parameter nanoseconds: The time on the monotonic clock; `nil` for never.
    public func set(to nanoseconds: Int64?) {
        // Zero means never, and no time on this clock is below 1.
        let time = nanoseconds.map { max(1, $0) } ?? 0
        // Cannot fail: the descriptor is a timerfd and the time is well formed.
        _ = try? SystemCall.checked { hf_timerfd_set(descriptor.rawValue, time) }
    }
}
