/// Which reports are wanted: all that every given part fits.
public struct ReportFilter: Sendable, Hashable {
    /// The name of the process, as it is in the report.
    public var process: String?
    /// The identifier of the process.
    public var pid: Int?
    /// The name of the host, in any case; `mx1` stands for `mx1.example.org`, too.
    public var host: String?
    /// What the build identifier of the executable, or the tag `release`, begins with.
    public var build: String?
    /// The name of the signal, in any case, with or without `SIG`.
    public var signal: String?
    /// What was decided about the process.
    public var verdict: CrashReport.Verdict.Decision?
    /// What the report is about.
    public var kind: CrashReport.Kind?
    /// What the fingerprint begins with, with or without the version of the rule before it (`v2-`).
    public var fingerprint: String?
    /// The beginning of the time: a report whose fault happened for the last time before it is left out.
    public var since: Timestamp?
    /// The end of the time: a report whose fault happened for the first time after it is left out.
    public var until: Timestamp?
    /// What the reason, the location or the name of the process contains, in any case.
    public var text: String?
    /// Tags that the report has; no report has two of the same key.
    public var tags: Set<Tag>

    /// A tag with its value.
    public struct Tag: Sendable, Hashable {
        /// What it is called.
        public var key: String
        /// What it says.
        public var value: String

        /// Makes a tag.
        public init(key: String, value: String) {
            self.key = key
            self.value = value
        }
    }

    /// Makes a filter; without any part it lets everything through.
    public init(
        process: String? = nil,
        pid: Int? = nil,
        host: String? = nil,
        build: String? = nil,
        signal: String? = nil,
        verdict: CrashReport.Verdict.Decision? = nil,
        kind: CrashReport.Kind? = nil,
        fingerprint: String? = nil,
        since: Timestamp? = nil,
        until: Timestamp? = nil,
        text: String? = nil,
        tags: Set<Tag> = []
    ) {
        self.process = process
        self.pid = pid
        self.host = host
        self.build = build
        self.signal = signal
        self.verdict = verdict
        self.kind = kind
        self.fingerprint = fingerprint
        self.since = since
        self.until = until
        self.text = text
        self.tags = tags
    }

    /// Whether it lets everything through.
    public var isEmpty: Bool { self == ReportFilter() }
}

/// In which order reports are listed.
public enum ReportOrder: String, Sendable, Hashable, CaseIterable {
    /// By the time of the fault, the newest first.
    case newestFirst = "newest"
    /// By the time of the fault, the oldest first.
    case oldestFirst = "oldest"
    /// By how often the fault happened, the most frequent first; then the newest first.
    case mostFrequentFirst = "count"
    /// By the name of the process; then the newest first.
    case byProcess = "process"
    /// By the text of the reason; then the newest first.
    case byReason = "reason"
}

extension ReportFilter {
    /// Tells whether a report is wanted.
    ///
    /// - Parameter report: The report.
    /// - Returns: Whether every given part fits.
    public func matches(_ report: CrashReport) -> Bool {
        var matcher = ReportMatcher(self)
        return matcher.matches(IndexEntry(report, file: FileMark(inode: 0, modified: 0, size: 0)))
    }
}
