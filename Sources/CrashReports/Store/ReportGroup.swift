/// What the reports of one fingerprint have in common.
public struct ReportGroup: Codable, Sendable, Hashable {
    /// What a group's faults happened to.
    public struct Version: Codable, Sendable, Hashable {
        /// The build identifier of the executable, if it has one.
        public var buildID: String?
        /// The version of Holdfast.
        public var holdfast: String
        /// How often the fault happened to it.
        public var count: Int

        /// Makes a version.
        public init(buildID: String?, holdfast: String, count: Int) {
            self.buildID = buildID
            self.holdfast = holdfast
            self.count = count
        }
    }

    /// What faults of the same cause have in common.
    public var fingerprint: Fingerprint
    /// What the reports are about.
    public var kind: CrashReport.Kind
    /// How often the fault happened.
    public var count: Int
    /// How many reports tell of it.
    public var reports: Int
    /// When it happened first, of what the store still has.
    public var first: Timestamp
    /// When it happened last.
    public var last: Timestamp
    /// The identifier of the newest report.
    public var newest: ReportID
    /// The identifier of the oldest report.
    public var oldest: ReportID
    /// The name of the signal, in the newest report.
    public var signal: String
    /// What went wrong, in the newest report.
    public var reason: String
    /// Where it went wrong, in the newest report.
    public var location: String
    /// The names of the processes that it happened to, sorted.
    public var processes: [String]
    /// How often each verdict was given, by the verdict.
    public var verdicts: [String: Int]
    /// What it happened to, the most recently seen first.
    public var versions: [Version]
    /// How long the longest of the stalls took, in seconds; nil in a group of faults.
    public var longest: Double?

    /// What it is about, in a word: the name of the signal, or `stall`.
    public var subject: String { kind == .stall ? kind.rawValue : signal }
}

/// In which order groups are listed.
public enum ReportGroupOrder: String, Sendable, Hashable, CaseIterable {
    /// By when the fault happened last, the latest first.
    case latestFirst = "latest"
    /// By how often the fault happened, the most frequent first.
    case mostFrequentFirst = "count"
    /// By when the fault happened first, the earliest first.
    case earliestFirst = "earliest"
}

/// The groups of a store.
public struct ReportGroupListing: Sendable, Hashable {
    /// The groups, in the order that was asked for.
    public var groups: [ReportGroup]
    /// Files that could not be read, each with the reason.
    public var problems: [ReportStoreError]
}
