extension CrashReport {
    /// Something that happened before a fault: an event of the loop, or a note of the user's.
    public struct Breadcrumb: Codable, Sendable, Hashable {
        /// When it happened.
        public var time: Timestamp
        /// What it is.
        public var kind: Kind
        /// What happened: the label of what was called, or the text of the note.
        public var text: String
        /// The thread it happened on, as `gettid` gives it, if known.
        public var thread: Int?
        /// How a note was logged, such as `warning`; nil for an event of the loop.
        public var level: String?

        /// Makes a breadcrumb.
        public init(time: Timestamp, kind: Kind, text: String, thread: Int? = nil, level: String? = nil) {
            self.time = time
            self.kind = kind
            self.text = text
            self.thread = thread
            self.level = level
        }
    }
}

extension CrashReport.Breadcrumb {
    /// What a breadcrumb is of.
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

        /// A line that the user's code logged.
        public static let note = Kind(rawValue: "note")
        /// A source was called.
        public static let source = Kind(rawValue: "source")
        /// A port source was called.
        public static let port = Kind(rawValue: "port")
        /// A timer was called.
        public static let timer = Kind(rawValue: "timer")
        /// An observer was called.
        public static let observer = Kind(rawValue: "observer")
        /// A block was performed.
        public static let block = Kind(rawValue: "block")
        /// A job of the main queue ran.
        public static let mainQueue = Kind(rawValue: "mainQueue")
        /// A run of the loop began.
        public static let entry = Kind(rawValue: "entry")
        /// A run of the loop ended.
        public static let exit = Kind(rawValue: "exit")
        /// The loop slept.
        public static let sleep = Kind(rawValue: "sleep")
        /// A fault before this one was resumed.
        public static let fault = Kind(rawValue: "fault")
        /// A signal was delivered to a handler.
        public static let signal = Kind(rawValue: "signal")
    }
}
