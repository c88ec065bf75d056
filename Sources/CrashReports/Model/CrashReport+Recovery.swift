extension CrashReport {
    /// What was done around the verdict, and what the callout left behind as far as that is known.
    public struct Recovery: Codable, Sendable, Hashable {
        /// Whether the process finished what was healthy before it was restarted.
        public var drained: Bool
        /// Whether the loop item whose callout faulted was taken out of its loop.
        public var quarantined: Bool
        /// How many locks of the POSIX threads library the callout held.
        public var heldLocks: Int
        /// Whether the callout was inside a function that holds a lock while it calls, such as `Mutex.withLock`.
        public var inLockFrame: Bool
        /// The names of what the callout was working on, as it marked them, the innermost first.
        public var touched: [String]

        /// Makes the description of a recovery.
        ///
        /// - Parameters:
        ///   - drained: Whether the process finished what was healthy before it was restarted.
        ///   - quarantined: Whether the loop item whose callout faulted was taken out of its loop.
        ///   - heldLocks: How many locks of the POSIX threads library the callout held.
        ///   - inLockFrame: Whether the callout was inside a function that holds a lock while it calls.
        ///   - touched: The names of what the callout was working on, the innermost first.
        public init(
            drained: Bool = false,
            quarantined: Bool = false,
            heldLocks: Int = 0,
            inLockFrame: Bool = false,
            touched: [String] = []
        ) {
            self.drained = drained
            self.quarantined = quarantined
            self.heldLocks = heldLocks
            self.inLockFrame = inLockFrame
            self.touched = touched
        }
    }
}
