/// How long one callout may run, and what follows when it may not be abandoned then.
///
/// What counts is the time in which its loop neither begins nor ends another callout, nor looks for events: a callout whose own run goes
/// on serving is never late. Time during which the process stood still (SIGSTOP, a debugger, suspend) does not count, nor does a change
/// of the wall clock.
///
/// A callout that is late is interrupted by a signal, and abandoned like one that faulted, if only the application's own frames are on its
/// stack, or a function of the C library that waits in the kernel, and it holds no lock. It is abandoned wherever it is: what it was
/// changing stays half changed. Keep that in critical sections (`EventHost.withCriticalSection`) or in a `Poisonable`.
public struct CalloutDeadline: Sendable, Hashable {
    /// What follows when a callout that is late may not be abandoned.
    public struct Otherwise: Sendable, Hashable {
        private enum Value { case restart, wait }
        private let value: Value

        /// The process restarts, as after a fault that is not resumed.
        public static let restart = Otherwise(value: .restart)
        /// The callout goes on, and the host logs it once.
        public static let wait = Otherwise(value: .wait)
    }

    /// How long a callout may run; it is interrupted up to a quarter of that later, or 100 ms if that is less.
    package var after: Duration
    /// What follows when it may not be abandoned.
    package var otherwise: Otherwise

    /// Makes a deadline.
    ///
    /// - Parameters:
    ///   - after: How long a callout may run: a millisecond at least.
    ///   - otherwise: What follows when it may not be abandoned.
    public init(after: Duration, otherwise: Otherwise = .restart) {
        self.after = after
        self.otherwise = otherwise
    }

    /// No deadline, for an item of a host that has one.
    public static let never = CalloutDeadline(after: .seconds(Int64.max), otherwise: .wait)
}
