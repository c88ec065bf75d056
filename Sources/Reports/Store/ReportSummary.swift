internal import SystemPackage

/// One line about a report.
public struct ReportSummary: Codable, Sendable, Hashable {
    /// The identifier of the report.
    public var id: ReportID
    /// What the report is about.
    public var kind: CrashReport.Word
    /// When the fault happened.
    public var timestamp: Timestamp
    /// The name of the process.
    public var process: String
    /// The process identifier.
    public var pid: Int
    /// When the process started.
    public var started: Timestamp
    /// The name of the host.
    public var host: String
    /// The name of the signal, such as `SIGILL`.
    public var signal: String
    /// What went wrong, and how often if more than once.
    public var reason: String
    /// Where it went wrong, such as `function (File.swift:12)`.
    public var location: String
    /// What was decided about the process.
    public var verdict: CrashReport.Word
    /// Whether the item or the label that faulted was quarantined; nil says no.
    public var quarantined: Bool?
    /// What faults of the same cause have in common.
    public var fingerprint: Fingerprint
    /// The path of the report's file, from the root.
    public var path: String
    /// How often the fault happened, and when first and last.
    public var occurrences: CrashReport.Occurrences
    /// The build identifier of the executable; nil when it has none.
    public var buildID: String?
    /// The version of Holdfast that the process ran with.
    public var holdfast: String
    /// Short values that the process gave its reports; nil when it gave none.
    public var tags: [String: String]?

    /// What stands in the place of a signal where nothing was signalled.
    static let noSignal = "none"

    /// Makes the summary of a report.
    ///
    /// - Parameters:
    ///   - report: The report.
    ///   - store: Where it is.
    package init(_ report: CrashReport, in store: ReportStore) {
        self.init(IndexEntry(report, file: .none), folder: store.reportsPath.string + "/")
    }

    init(_ entry: IndexEntry, folder: String) {
        id = entry.id.reportID
        kind = CrashReport.Kind(rawValue: entry.kind)
        timestamp = entry.timestamp
        process = entry.process
        pid = entry.pid
        started = entry.started
        host = entry.host
        signal = entry.signal
        reason = entry.reason + Self.suffix(entry.count)
        location = entry.location
        verdict = CrashReport.Verdict.Decision(rawValue: entry.verdict)
        quarantined = entry.isQuarantined ? true : nil
        fingerprint = Fingerprint(rawValue: entry.fingerprint)
        path = folder + ReportStore.fileName(id)
        occurrences = CrashReport.Occurrences(count: entry.count, first: entry.first, last: entry.last)
        buildID = entry.buildID
        holdfast = entry.holdfast
        tags = entry.tags.isEmpty ? nil : entry.tags
    }

    /// What it is about, in a word: the name of the signal, or `stall`.
    package var subject: String { kind == .stall ? kind.rawValue : signal }

    /// What went wrong, without how often.
    package var plainReason: String {
        guard occurrences.count > 1 else { return reason }
        let suffix = Self.suffix(occurrences.count)
        return reason.hasSuffix(suffix) ? String(reason.dropLast(suffix.count)) : reason
    }

    private static func suffix(_ count: Int) -> String { count > 1 ? " (\(count) times)" : "" }
}

/// What a store has.
public struct ReportListing: Sendable, Hashable {
    /// The reports, in the order that was asked for.
    public var summaries: [ReportSummary]
    /// Files that could not be read, each with the reason.
    public var problems: [ReportStoreError]
}
