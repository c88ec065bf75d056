internal import FoundationEssentials

/// Everything that is known about one fault, one stall, or the end of one process: its subject.
///
/// Its JSON form is described in `Documentation/CrashReportFormat.md`. Optional properties that are `nil` are absent from
/// it, never null; keys that this version does not know are ignored.
public struct CrashReport: Sendable, Hashable {
    /// The version of the JSON form that this library writes; it reads this one and all before.
    package static let schemaVersion = 1

    /// The name of the report.
    public var id: ReportID
    /// What the report is about.
    package var subject: Subject
    /// What happened, in one plain line; see `FaultReason` and `Stall.reason`.
    public var reason: String
    /// What is probably wrong, in plain words; nil if nobody looked.
    public var diagnosis: Diagnosis?
    /// When the fault happened, the stall began, or the process ended.
    public var timestamp: Timestamp
    /// What faults of the same cause have in common.
    public var fingerprint: Fingerprint
    /// How often the same fault happened.
    public var occurrences: Occurrences
    /// The process that faulted.
    public var process: Process
    /// The machine it ran on.
    public var host: Host
    /// Versions of what the process was built with and ran on.
    public var runtime: Runtime
    /// Where the event loop was, if the thread ran one.
    public var loop: LoopState?
    /// The thread that faulted.
    public var thread: Thread
    /// The other threads of the process, as far as they were looked at.
    public var otherThreads: [Thread] = []
    /// How many threads more there were.
    public var threadsOmitted: Int = 0
    /// What the process was doing, had and was allowed; nil if nothing of it is known.
    public var context: Context?
    /// The files that were mapped as code.
    public var images: [Image]
    /// What was decided about the process.
    public var verdict: Verdict
    /// What was done around the verdict; nil if there is nothing to say about it.
    public var recovery: Recovery?
    /// What the tasks in fault boundaries did during a stall; nil if there were none.
    package var tasks: TaskDump?
    /// How the process ended, as its supervisor saw it; nil where it has none, and of one that went on.
    public var death: Death?
    /// What could not be had, and other remarks.
    public var notes: [String] = []
}

extension CrashReport {
    /// What a report is about, with all that is known of it alone.
    package enum Subject: Sendable, Hashable {
        /// A synchronous signal: the code could not go on.
        case fault(Fault)
        /// A callout that did not return for too long, or something that did not answer.
        case stall(Stall)
        /// The end of a process, which nobody inside has told of; `death` says how.
        case death
        /// Something that this version does not know; what all reports have can be read all the same.
        case other(Kind)
    }

    package typealias Kind = Word

    /// What the report is about, in a word.
    public var kind: CrashReport.Word {
        switch subject {
        case .fault: .fault
        case .stall: .stall
        case .death: .death
        case .other(let kind): kind
        }
    }

    /// What went wrong, in a report of a fault; it can be changed there, and not put into another.
    public var fault: Fault? {
        get {
            guard case .fault(let fault) = subject else { return nil }
            return fault
        }
        set {
            guard case .fault = subject, let newValue else { return }
            subject = .fault(newValue)
        }
    }

    /// What did not go on, in a report of a stall; it can be changed there, and not put into another.
    public var stall: Stall? {
        get {
            guard case .stall(let stall) = subject else { return nil }
            return stall
        }
        set {
            guard case .stall = subject, let newValue else { return }
            subject = .stall(newValue)
        }
    }
}

extension CrashReport: Codable {
    private enum CodingKeys: String, CodingKey {
        case schemaVersion, id, kind, reason, diagnosis, timestamp, fingerprint, occurrences, process, host, runtime,
            fault, loop
        case threads, threadsOmitted, context, images, verdict, recovery, stall, tasks, death, notes
    }

    /// Reads a report.
    ///
    /// - Parameter decoder: Gives the JSON object.
    /// - Throws: `UnsupportedSchemaVersion` for a report of another version, else `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        // First of all: what another version means by the other keys is not known here.
        let version = try container.decode(Int.self, forKey: .schemaVersion)
        guard (1...Self.schemaVersion).contains(version) else { throw UnsupportedSchemaVersion(version: version) }
        id = try container.decode(ReportID.self, forKey: .id)
        let kind = try container.decode(Kind.self, forKey: .kind)
        switch kind {
        case .fault: subject = .fault(try container.decode(Fault.self, forKey: .fault))
        case .stall: subject = .stall(try container.decode(Stall.self, forKey: .stall))
        case .death: subject = .death
        default: subject = .other(kind)
        }
        reason = try container.decode(String.self, forKey: .reason)
        diagnosis = try container.decodeIfPresent(Diagnosis.self, forKey: .diagnosis)
        timestamp = try container.decode(Timestamp.self, forKey: .timestamp)
        fingerprint = try container.decode(Fingerprint.self, forKey: .fingerprint)
        occurrences = try container.decode(Occurrences.self, forKey: .occurrences)
        process = try container.decode(Process.self, forKey: .process)
        host = try container.decode(Host.self, forKey: .host)
        runtime = try container.decode(Runtime.self, forKey: .runtime)
        loop = try container.decodeIfPresent(LoopState.self, forKey: .loop)
        var threads = try container.decode([Thread].self, forKey: .threads)
        guard !threads.isEmpty else {
            throw DecodingError.dataCorruptedError(
                forKey: .threads,
                in: container,
                debugDescription: "the thread that faulted is missing"
            )
        }
        thread = threads.removeFirst()
        otherThreads = threads
        threadsOmitted = try container.decodeIfPresent(Int.self, forKey: .threadsOmitted) ?? 0
        context = try container.decodeIfPresent(Context.self, forKey: .context)
        images = try container.decode([Image].self, forKey: .images)
        verdict = try container.decode(Verdict.self, forKey: .verdict)
        recovery = try container.decodeIfPresent(Recovery.self, forKey: .recovery)
        tasks = try container.decodeIfPresent(TaskDump.self, forKey: .tasks)
        death =
            if kind == .death {
                try container.decode(Death.self, forKey: .death)
            } else {
                try container.decodeIfPresent(Death.self, forKey: .death)
            }
        notes = try container.decode([String].self, forKey: .notes)
    }

    /// Writes a report, with the version of its form.
    ///
    /// - Parameter encoder: Takes the JSON object.
    /// - Throws: Errors of the encoder, such as for a number that JSON cannot say.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.schemaVersion, forKey: .schemaVersion)
        try container.encode(id, forKey: .id)
        try container.encode(kind, forKey: .kind)
        try container.encode(reason, forKey: .reason)
        try container.encodeIfPresent(diagnosis, forKey: .diagnosis)
        try container.encode(timestamp, forKey: .timestamp)
        try container.encode(fingerprint, forKey: .fingerprint)
        try container.encode(occurrences, forKey: .occurrences)
        try container.encode(process, forKey: .process)
        try container.encode(host, forKey: .host)
        try container.encode(runtime, forKey: .runtime)
        try container.encodeIfPresent(fault, forKey: .fault)
        try container.encodeIfPresent(loop, forKey: .loop)
        try container.encode([thread] + otherThreads, forKey: .threads)
        if threadsOmitted > 0 { try container.encode(threadsOmitted, forKey: .threadsOmitted) }
        try container.encodeIfPresent(context, forKey: .context)
        try container.encode(images, forKey: .images)
        try container.encode(verdict, forKey: .verdict)
        try container.encodeIfPresent(recovery, forKey: .recovery)
        try container.encodeIfPresent(stall, forKey: .stall)
        try container.encodeIfPresent(tasks, forKey: .tasks)
        try container.encodeIfPresent(death, forKey: .death)
        try container.encode(notes, forKey: .notes)
    }
}

/// A report is of a version that this library does not read.
struct UnsupportedSchemaVersion: Error, Sendable, Hashable, CustomStringConvertible {
    /// The version of the report.
    let version: Int

    /// Says which version it is, and what to do.
    var description: String {
        "the report has schema version \(version), but this program reads versions up to \(CrashReport.schemaVersion): "
            + "use the crashreport of the Holdfast that wrote it"
    }
}

extension CrashReport {
    /// Reads a report from the bytes of its JSON form.
    ///
    /// The bytes may be anything: whatever is wrong with them comes as an error.
    ///
    /// - Parameter json: UTF-8.
    /// - Throws: `ReportFormatError` when the bytes are no report, or one of another version.
    public init(json: [UInt8]) throws(ReportFormatError) {
        do {
            self = try JSONDecoder().decode(CrashReport.self, from: Data(json))
        } catch let error as UnsupportedSchemaVersion {
            throw ReportFormatError(code: .unsupportedVersion, explanation: error.description)
        } catch let error as DecodingError {
            throw ReportFormatError(code: .malformed, explanation: error.explanation)
        } catch {
            throw ReportFormatError(code: .malformed, explanation: "\(error)")
        }
    }

    /// Writes the JSON form of the report: pretty-printed, keys sorted, a newline at the end.
    ///
    /// - Returns: UTF-8 without any character that controls a terminal: those are escaped.
    /// - Throws: `ReportFormatError` when a number is infinite or not a number.
    public func json() throws(ReportFormatError) -> [UInt8] {
        try JSONText.encode(self)
    }
}

extension CrashReport {
    /// How often the same fault happened.
    public struct Occurrences: Codable, Sendable, Hashable {
        /// How often, this one included.
        public var count: Int
        /// When it happened first.
        public var first: Timestamp
        /// When it happened last.
        public var last: Timestamp
        /// Those of the others whose callers were told of them, the oldest first; nil for none.
        ///
        /// No more than the last 256.
        public var others: [Other]?

        /// A fault that is counted in the report of an equal one.
        public struct Other: Codable, Sendable, Hashable {
            /// What its caller was told as the id of its report.
            public var id: ReportID
            /// When it happened.
            public var time: Timestamp
            /// What its caller knew of it.
            public var tags: [String: String]

            /// Describes one.
            ///
            /// - Parameters:
            ///   - id: What its caller was told as the id of its report.
            ///   - time: When it happened.
            ///   - tags: What its caller knew of it.
            package init(id: ReportID, time: Timestamp, tags: [String: String]) {
                self.id = id
                self.time = time
                self.tags = tags
            }
        }

        /// Makes a count.
        ///
        /// - Parameters:
        ///   - count: How often, this one included.
        ///   - first: When it happened first.
        ///   - last: When it happened last.
        package init(count: Int, first: Timestamp, last: Timestamp) {
            self.count = count
            self.first = first
            self.last = last
        }
    }

    /// Adds what is known of the fault to the tags of its process.
    package mutating func add(tags: [String: String]) {
        guard !tags.isEmpty else { return }
        var context = self.context ?? Context()
        context.tags.merge(tags) { $1 }
        self.context = context
    }

    /// The fault, and those that are listed in its report, as another report lists them; none if nobody was told of them.
    package var asOthers: [Occurrences.Other] {
        guard loop?.callout?.kind == .task else { return [] }
        return [Occurrences.Other(id: id, time: timestamp, tags: context?.tags ?? [:])] + (occurrences.others ?? [])
    }

    /// How many others are listed.
    package static let mostOthers = 256

    /// Lists faults that are counted in the report.
    ///
    /// - Parameter others: What their callers were told; of too many, the last are kept.
    package mutating func list(_ others: [Occurrences.Other]) {
        guard !others.isEmpty else { return }
        let all = ((occurrences.others ?? []) + others).sorted { $0.time < $1.time }
        occurrences.others = Array(all.suffix(Self.mostOthers))
    }

    /// Counts further faults in the report, whose diagnosis says how many there were.
    ///
    /// - Parameters:
    ///   - count: How many; a sum that is too large stays at the largest.
    ///   - first: When the first of them happened; nil if later than what is counted already.
    ///   - last: When the last of them happened.
    package mutating func count(_ count: Int, first: Timestamp? = nil, last: Timestamp) {
        occurrences.count = occurrences.count.addingClamped(count)
        if let first { occurrences.first = min(occurrences.first, first) }
        occurrences.last = max(occurrences.last, last)
        diagnosis = Diagnosis(of: self)
    }

    /// Counts a stall of the same cause in the report, which then tells of the longer of the two.
    ///
    /// - Parameter other: The report of the other one.
    package mutating func count(stallOf other: CrashReport) {
        guard var counted = stall, let added = other.stall else { return }
        let isLonger = added.length > counted.length
        counted.count(added)
        let (id, occurrences) = (self.id, self.occurrences)
        if isLonger { self = other }
        self.id = id
        self.occurrences = occurrences
        self.occurrences.count = occurrences.count.addingClamped(other.occurrences.count)
        self.occurrences.first = min(occurrences.first, other.occurrences.first)
        self.occurrences.last = max(occurrences.last, other.occurrences.last)
        stall = counted
        explain()
    }
}
