extension ReportStore {
    /// How much a store may hold.
    ///
    /// When it holds more, files that are no readable reports go first, but for reports of newer versions. Then duplicates go, the
    /// oldest before the others: reports that are neither the first nor the last of their fingerprint. Then whole groups go,
    /// beginning with the one whose fault was seen last the longest ago.
    public struct Limits: Sendable, Hashable {
        /// How many reports; nil for any number.
        public var reports: Int?
        /// How many bytes the files of the reports have together; nil for any number.
        public var bytes: Int?
        /// How long ago a fault may have happened for the last time; nil for any time.
        ///
        /// The first report of a group that still happens stays, however old it is.
        public var age: Duration?

        /// Makes limits; what is not given is not limited, and negative numbers count as zero.
        public init(reports: Int? = nil, bytes: Int? = nil, age: Duration? = nil) {
            self.reports = reports.map { max(0, $0) }
            self.bytes = bytes.map { max(0, $0) }
            self.age = age.map { max(.zero, $0) }
        }

        /// 1,000 reports, 256 MiB, 90 days.
        public static let `default` = Limits(reports: 1000, bytes: 256 << 20, age: .seconds(90 * 86400))

        /// Nothing is limited.
        public static let unlimited = Limits()
    }
}

/// What pruning removed, or would remove.
public struct PruneOutcome: Sendable, Hashable {
    /// A report that was removed, or would be.
    public struct Removal: Sendable, Hashable {
        /// Why it went.
        public enum Cause: String, Sendable, Hashable {
            /// It is no report that can be read, and none of a newer version.
            case unreadable
            /// Its group has an older and a newer one.
            case duplicate
            /// Its fault did not happen again for longer than the limit.
            case tooOld
            /// There was no duplicate left to remove, and its fault was seen last the longest ago.
            case oldestGroup
        }

        /// The identifier of the report.
        public var id: ReportID
        /// The size of its file.
        public var bytes: Int
        /// Why it went.
        public var cause: Cause
    }

    /// What was removed, in this order.
    public var removed: [Removal] = []
    /// How many reports are left.
    public var keptReports = 0
    /// How many bytes they have together.
    public var keptBytes = 0
    /// Files that could not be removed, each with the reason.
    public var problems: [ReportStoreError] = []

    /// How many bytes were removed.
    public var removedBytes: Int { removed.reduce(0) { $0 + $1.bytes } }
}
