/// Everything that is known about one fault, or about one stall.
///
/// Its JSON form is described in `Documentation/CrashReportFormat.md`. Optional properties that are `nil` are absent from
/// it, never null; keys that this version does not know are ignored.
public struct CrashReport: Sendable, Hashable {
    /// The version of the JSON form that this library writes; it reads this one and all before.
    public static let schemaVersion = 1

    /// The name of the report.
    public var id: ReportID
    /// What the report is about.
    public var kind: Kind
    /// When the fault happened.
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
    /// What went wrong.
    public var fault: Fault
    /// Where the event loop was, if the thread ran one.
    public var loop: LoopState?
    /// The thread that faulted.
    public var thread: Thread
    /// The other threads of the process, as far as they were looked at.
    public var otherThreads: [Thread]
    /// How many threads more there were.
    public var threadsOmitted: Int
    /// What the process was doing, had and was allowed; nil if nothing of it is known.
    public var context: Context?
    /// The files that were mapped as code.
    public var images: [Image]
    /// What was decided about the process.
    public var verdict: Verdict
    /// What was done around the verdict; nil if there is nothing to say about it.
    public var recovery: Recovery?
    /// What did not go on; nil in a report of another kind.
    public var stall: Stall?
    /// What could not be had, and other remarks.
    public var notes: [String]

    /// Makes a report.
    ///
    /// - Parameters:
    ///   - id: The name of the report.
    ///   - kind: What the report is about.
    ///   - timestamp: When the fault happened.
    ///   - fingerprint: What faults of the same cause have in common.
    ///   - occurrences: How often the same fault happened.
    ///   - process: The process that faulted.
    ///   - host: The machine it ran on.
    ///   - runtime: Versions of what the process was built with and ran on.
    ///   - fault: What went wrong.
    ///   - loop: Where the event loop was, if the thread ran one.
    ///   - thread: The thread that faulted.
    ///   - otherThreads: The other threads of the process, as far as they were looked at.
    ///   - threadsOmitted: How many threads more there were.
    ///   - context: What the process was doing, had and was allowed, if anything of it is known.
    ///   - images: The files that were mapped as code.
    ///   - verdict: What was decided about the process.
    ///   - recovery: What was done around the verdict, if there is anything to say about it.
    ///   - stall: What did not go on, in a report of that kind.
    ///   - notes: What could not be had, and other remarks.
    public init(
        id: ReportID,
        kind: Kind = .fault,
        timestamp: Timestamp,
        fingerprint: Fingerprint,
        occurrences: Occurrences,
        process: Process,
        host: Host,
        runtime: Runtime,
        fault: Fault,
        loop: LoopState? = nil,
        thread: Thread,
        otherThreads: [Thread] = [],
        threadsOmitted: Int = 0,
        context: Context? = nil,
        images: [Image],
        verdict: Verdict,
        recovery: Recovery? = nil,
        stall: Stall? = nil,
        notes: [String] = []
    ) {
        self.id = id
        self.kind = kind
        self.timestamp = timestamp
        self.fingerprint = fingerprint
        self.occurrences = occurrences
        self.process = process
        self.host = host
        self.runtime = runtime
        self.fault = fault
        self.loop = loop
        self.thread = thread
        self.otherThreads = otherThreads
        self.threadsOmitted = threadsOmitted
        self.context = context
        self.images = images
        self.verdict = verdict
        self.recovery = recovery
        self.stall = stall
        self.notes = notes
    }
}

extension CrashReport {
    /// What a report is about.
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

        /// A synchronous signal: the code could not go on.
        public static let fault = Kind(rawValue: "fault")
        /// A callout that did not return for too long, or something that did not answer.
        public static let stall = Kind(rawValue: "stall")
    }
}
