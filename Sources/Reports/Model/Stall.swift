extension CrashReport {
    /// Something that should have gone on and did not: a callout that does not return, a queue that does not answer.
    ///
    /// The first thread of the report is the one that stalled, as the first sample saw it.
    public struct Stall: Codable, Sendable, Hashable {
        /// Which stall of its process it was, counted from 1.
        public var number: Int
        /// What stalled.
        public var subject: CrashReport.Word
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
        public var end: CrashReport.Word
        /// What its thread did meanwhile, what took longest first.
        public var activities: [ActivityTime] = []
        /// How long its thread was on a processor since the first sample, in seconds; nil if that is not known.
        public var processorSeconds: Double?
        /// How long its thread was ready and waited for a processor since the first sample, in seconds; nil if that is not known.
        public var waitedForProcessorSeconds: Double?
        /// Where its thread was meanwhile; nil if nobody could look.
        public var profile: Profile?
        /// How long the stalls took that were counted in the report; without those whose end is not known.
        package var lengths = Histogram()
        /// How regularly the loop ticked until then, if that was measured.
        package var ticks: Ticks?
    }
}

extension CrashReport.Stall {
    package typealias Subject = CrashReport.Word
    package typealias End = CrashReport.Word
    package typealias Activity = CrashReport.Word

    /// Makes the description of one that may last still; what was seen of it comes later.
    package init(number: Int, subject: Subject, label: String?, threshold: Double, begin: Timestamp, length: Double) {
        self.init(
            number: number,
            subject: subject,
            label: label,
            threshold: threshold,
            begin: begin,
            length: length,
            end: .never
        )
    }

    /// How long a thread did something.
    public struct ActivityTime: Codable, Sendable, Hashable {
        /// What it did.
        public var activity: CrashReport.Word
        /// The system call it was in, such as `read`, if it was in one.
        public var systemCall: String?
        /// How long, in seconds: each sample stands for the time since the one before it.
        public var seconds: Double
        /// How many samples saw it.
        public var samples: Int

        /// Makes an entry.
        ///
        /// - Parameters:
        ///   - activity: What it did.
        ///   - systemCall: The system call it was in.
        ///   - seconds: How long, in seconds.
        ///   - samples: How many samples saw it.
        package init(activity: Activity, systemCall: String? = nil, seconds: Double, samples: Int) {
            self.activity = activity
            self.systemCall = systemCall
            self.seconds = seconds
            self.samples = samples
        }

        /// What it did, in words: `in read`, `waiting for a lock`.
        package var text: String {
            guard activity == .systemCall, let systemCall else { return activity.rawValue }
            return "in \(systemCall)"
        }
    }

    /// Where a thread was during a stall: the stacks of all samples, merged from the outermost call on.
    public struct Profile: Codable, Sendable, Hashable {
        /// How many samples were taken.
        public var samples: Int
        /// The time that they stand for, in seconds.
        public var seconds: Double
        /// The calls, each followed by those that it made: the heaviest path comes first.
        public var calls: [Call]
        /// How many calls more there were, which took the least time.
        public var callsOmitted: Int = 0
    }

    /// A function in a profile, as it was called from one place in the tree.
    public struct Call: Codable, Sendable, Hashable {
        /// How many calls it is away from the outermost one, which has 0.
        public var depth: Int
        /// How long the thread was in it or in what it called, in seconds.
        public var seconds: Double
        /// In how many samples it was.
        public var samples: Int
        /// One of the addresses that were seen in it.
        public var address: HexAddress
        /// The function, demangled.
        public var function: String?
        /// The name of the image.
        public var imageName: String?
        /// The address relative to the base of that image.
        public var imageOffset: HexAddress?
        /// The path of the source file.
        public var file: String?
        /// The lines that were seen in it, the one that took longest first.
        package var lines: [LineTime] = []
        /// Whether it was inlined into the call before it in depth.
        public var inlined: Bool = false
        /// Whether it belongs to the program rather than to the system or a runtime.
        public var isUserCode: Bool

        /// What it is, without a line: the function, else image and offset, else the address.
        public var name: String {
            if let function { return function }
            guard let imageName else { return address.description }
            return imageOffset.map { "\(imageName)+\($0)" } ?? imageName
        }

        /// Where it is: `function (File.swift:12)`, with the line that took longest.
        public var location: String {
            guard function != nil, let file, let source = file.split(separator: "/").last else { return name }
            guard let line = lines.first?.line else { return "\(name) (\(source))" }
            return "\(name) (\(source):\(line))"
        }
    }

    /// How long a thread was at a line.
    package struct LineTime: Codable, Sendable, Hashable {
        /// The line, counted from 1.
        package var line: Int
        /// How long, in seconds.
        package var seconds: Double
    }
}
