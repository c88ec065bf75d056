extension CrashReport {
    /// Where the event loop was.
    public struct LoopState: Codable, Sendable, Hashable {
        /// The mode it ran in.
        public var mode: String
        /// Its activity, such as `beforeTimers`.
        public var activity: String
        /// The callout that faulted, if it was inside one.
        public var callout: Callout?
        /// How many runs of the loop were active, one inside the other.
        public var nesting: Int
        /// Which pass of this run it was, counted from 1.
        public var pass: Int
    }
}

extension CrashReport.LoopState {
    /// A call from the loop into user code.
    public struct Callout: Codable, Sendable, Hashable {
        package typealias Kind = CrashReport.Word

        /// What was called.
        public var kind: CrashReport.Word
        /// The label the user gave it, or an empty string.
        public var label: String
        /// The number of the item in its loop.
        public var item: Int
        /// Whether it was in the loop when the host began to run, with a label of its own, and no port of a socket, so that a start could do
        /// without it; nil says that it was not, or is not known.
        public var isFromStart: Bool?
    }
}
