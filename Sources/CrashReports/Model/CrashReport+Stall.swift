extension CrashReport {
    /// Something that should have gone on and did not: a callout that does not return, a queue that does not answer.
    ///
    /// The first thread of the report is the one that stalled, as the last sample saw it.
    public struct Stall: Codable, Sendable, Hashable {
        /// Which stall of its process it was, counted from 1.
        public var number: Int
        /// What stalled.
        public var subject: Subject
        /// What the one who watches it calls it; nil for a loop without a name.
        public var label: String?
        /// What lasts at least this long is a stall, in seconds.
        public var threshold: Double
        /// When it was first seen.
        public var begin: Timestamp
        /// How long it took, in seconds; without an end, how long it had lasted when that was last seen.
        ///
        /// Of several stalls that were counted in one report, the longest.
        public var length: Double
        /// What became of it.
        public var end: End
        /// What its thread did meanwhile, what took longest first.
        public var activities: [ActivityTime]
        /// How long its thread was on a processor since the first sample, in seconds; nil if that is not known.
        public var processorSeconds: Double?
        /// How long its thread was ready and waited for a processor since the first sample, in seconds; nil if that is not known.
        public var waitedForProcessorSeconds: Double?
        /// Where its thread was meanwhile; nil if nobody could look.
        public var profile: Profile?
        /// How long the stalls took that were counted in the report; without those whose end is not known.
        public var lengths: Histogram
        /// How regularly the loop ticked until then, if that was measured.
        public var ticks: Ticks?

        /// Makes the description of a stall.
        ///
        /// - Parameters:
        ///   - number: Which stall of its process it was, counted from 1.
        ///   - subject: What stalled.
        ///   - label: What the one who watches it calls it.
        ///   - threshold: What lasts at least this long is a stall, in seconds.
        ///   - begin: When it was first seen.
        ///   - length: How long it took, or has lasted, in seconds.
        ///   - end: What became of it.
        ///   - activities: What its thread did meanwhile.
        ///   - processorSeconds: How long its thread was on a processor.
        ///   - waitedForProcessorSeconds: How long its thread waited for a processor.
        ///   - profile: Where its thread was meanwhile.
        ///   - lengths: How long the stalls took that were counted in the report.
        ///   - ticks: How regularly the loop ticked until then.
        public init(
            number: Int,
            subject: Subject,
            label: String? = nil,
            threshold: Double,
            begin: Timestamp,
            length: Double,
            end: End,
            activities: [ActivityTime] = [],
            processorSeconds: Double? = nil,
            waitedForProcessorSeconds: Double? = nil,
            profile: Profile? = nil,
            lengths: Histogram = Histogram(),
            ticks: Ticks? = nil
        ) {
            self.number = number
            self.subject = subject
            self.label = label
            self.threshold = threshold
            self.begin = begin
            self.length = length
            self.end = end
            self.activities = activities
            self.processorSeconds = processorSeconds
            self.waitedForProcessorSeconds = waitedForProcessorSeconds
            self.profile = profile
            self.lengths = lengths
            self.ticks = ticks
        }
    }
}

extension CrashReport.Stall {
    /// What stalled.
    ///
    /// A value that this version does not know is kept as it is.
    public struct Subject: RawRepresentable, Codable, Sendable, Hashable {
        /// The value in JSON.
        public let rawValue: String

        /// Takes a value.
        ///
        /// - Parameter rawValue: The value in JSON.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// An event loop, which did not look for events.
        public static let loop = Subject(rawValue: "loop")
        /// What was pinged and did not answer: a queue, an actor, another project's loop.
        public static let ping = Subject(rawValue: "ping")
    }

    /// What became of a stall.
    ///
    /// A value that this version does not know is kept as it is.
    public struct End: RawRepresentable, Codable, Sendable, Hashable {
        /// The value in JSON.
        public let rawValue: String

        /// Takes a value.
        ///
        /// - Parameter rawValue: The value in JSON.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// It went on by itself.
        public static let wentOn = End(rawValue: "went on")
        /// Its callout was abandoned: it faulted, or ran for longer than its deadline, and has a report of its own for that.
        public static let abandoned = End(rawValue: "abandoned")
        /// The process has not said that it ended: it lasts, or the process ended first.
        public static let never = End(rawValue: "never ended")
    }
}
