/// How long one callout may run, and what happens if it is late but may not be abandoned.
///
/// The time counts while the loop neither begins nor ends another callout nor looks for events: a callout whose own nested run keeps
/// serving events is never late. Time during which the process was stopped (SIGSTOP, a debugger, suspend) does not count, and changes of
/// the wall clock have no effect.
///
/// A late callout is interrupted by a signal. It is abandoned like one that faulted if it holds no lock and its stack has only the
/// application's own frames, or a function of the C library that waits in the kernel. It may be abandoned at any point, so whatever it was
/// changing stays half changed. Protect such changes with critical sections (`EventHost.withCriticalSection`) or a `Poisonable`.
public struct CalloutDeadline: Sendable, Hashable {
    /// What happens when a late callout may not be abandoned.
    public struct Otherwise: Sendable, Hashable {
        private enum Value { case restart, wait }
        private let value: Value

        /// The process restarts, as after a fault that is not resumed.
        public static let restart = Otherwise(value: .restart)
        /// The callout continues, and the host logs this once.
        public static let wait = Otherwise(value: .wait)
    }

    /// How long a callout may run; the interruption comes up to a quarter of that later, or up to 100 ms if that is less.
    package var after: Duration
    /// What happens when the callout may not be abandoned.
    package var otherwise: Otherwise

    /// Makes a deadline.
    ///
    /// - Parameters:
    ///   - after: How long a callout may run, at least a millisecond.
    ///   - otherwise: What happens when the callout may not be abandoned.
    public init(after: Duration, otherwise: Otherwise = .restart) {
        self.after = after
        self.otherwise = otherwise
    }

    /// No deadline, for an item of a host that has one by default.
    public static let never = CalloutDeadline(after: .seconds(Int64.max), otherwise: .wait)
}
