public import SystemPackage

/// One line about a report.
public struct ReportSummary: Codable, Sendable, Hashable {
    /// The identifier of the report.
    public var id: ReportID
    /// What the report is about.
    public var kind: CrashReport.Kind
    /// When the fault happened.
    public var timestamp: Timestamp
    /// The name of the process.
    public var process: String
    /// The process identifier.
    public var pid: Int
    /// The name of the signal, such as `SIGILL`.
    public var signal: String
    /// What went wrong, and how often if more than once.
    public var reason: String
    /// Where it went wrong, such as `function (File.swift:12)`.
    public var location: String
    /// What was decided about the process.
    public var verdict: CrashReport.Verdict.Decision
    /// Whether the loop item that faulted was taken out of its loop; nil says no.
    public var quarantined: Bool?
    /// What faults of the same cause have in common.
    public var fingerprint: Fingerprint
    /// The path of the report's file, from the root.
    public var path: String

    /// Sums up a report.
    ///
    /// - Parameters:
    ///   - report: The report.
    ///   - path: The path of its file, from the root.
    public init(_ report: CrashReport, path: FilePath) {
        id = report.id
        kind = report.kind
        timestamp = report.timestamp
        process = report.process.name
        pid = report.process.pid
        signal = report.fault.signal.name
        let count = report.occurrences.count
        reason = report.fault.reason + (count > 1 ? " (\(count) times)" : "")
        location = report.location
        verdict = report.verdict.decision
        quarantined = report.recovery?.quarantined == true ? true : nil
        fingerprint = report.fingerprint
        self.path = path.string
    }
}

/// What a store has.
public struct ReportListing: Sendable, Hashable {
    /// The reports, the newest first.
    public var summaries: [ReportSummary]
    /// Files that could not be read, each with the reason.
    public var problems: [ReportStoreError]
}
