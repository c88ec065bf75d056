extension CrashReport {
    /// What was decided about the process.
    public struct Verdict: Codable, Sendable, Hashable {
        package typealias Decision = CrashReport.Word

        /// The decision.
        public var decision: CrashReport.Word
        /// Why, in one plain line.
        public var reason: String

        /// The reason where a process has ended before its fault was judged.
        package static let noneYet = "the process ended before a verdict was given"
    }

    /// What was done around the verdict, and what the callout left behind as far as that is known.
    public struct Recovery: Codable, Sendable, Hashable {
        /// Whether the process finished what was healthy before it was restarted.
        public var drained: Bool = false
        /// Whether what faulted was quarantined: its item was taken out of its loop, or the boundaries of its label are refused.
        public var quarantined: Bool = false
        /// How many locks of the POSIX threads library the callout held.
        public var heldLocks: Int = 0
        /// Whether the callout was inside a function that holds a lock while it calls, such as `Mutex.withLock`.
        public var inLockFrame: Bool = false
        /// The names of what the callout was working on, as it marked them, the innermost first.
        public var touched: [String] = []
    }

    /// What is probably wrong, in plain words.
    public struct Diagnosis: Codable, Sendable, Hashable {
        /// What is wrong, in one line.
        public var summary: String
        /// What to look at next, the most promising first.
        public var next: [String] = []
    }
}
