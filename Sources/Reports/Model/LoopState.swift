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
        /// What was called.
        public var kind: Kind
        /// The label the user gave it, or an empty string.
        public var label: String
        /// The number of the item in its loop.
        public var item: Int
        /// Whether it was in the loop when the host began to run, with a label of its own, and no port of a socket, so that a start could do
        /// without it; nil says that it was not, or is not known.
        public var isFromStart: Bool?
    }
}

extension CrashReport.LoopState.Callout {
    /// What the loop was calling.
    ///
    /// A value that this version does not know is kept as it is.
    public struct Kind: RawRepresentable, Codable, Sendable, Hashable {
        /// The value in JSON.
        public let rawValue: String

        /// Takes a value.
        ///
        /// - Parameter rawValue: The value in JSON.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A source.
        package static let source = Kind(rawValue: "source")
        /// A port source.
        package static let port = Kind(rawValue: "port")
        /// A timer.
        package static let timer = Kind(rawValue: "timer")
        /// An observer.
        package static let observer = Kind(rawValue: "observer")
        /// A block that was to be performed.
        package static let block = Kind(rawValue: "block")
        /// A job of the main queue.
        package static let mainQueue = Kind(rawValue: "mainQueue")
    }
}
