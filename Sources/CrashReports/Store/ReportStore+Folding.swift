internal import LinuxSystem

extension ReportStore {
    /// When a report is only counted in one that is there: a program that crashes again and again must not bury the rest.
    public struct Folding: Sendable, Hashable {
        /// Reports of a fault within the window that are kept one by one; those after them are counted.
        public var individual: Int
        /// How far back to look for them.
        public var window: Duration

        /// Makes a rule; fewer than two individual reports count as two, so that the first and the last stay apart.
        public init(individual: Int, window: Duration) {
            self.individual = max(2, individual)
            self.window = window
        }

        /// From the 33rd report of a fault within five minutes on.
        ///
        /// Whoever starts looks at the faults of the last five minutes (`RecentFaults`), and finds more than enough of them to see
        /// a crash loop.
        public static let `default` = Folding(individual: 32, window: .seconds(300))
    }

    /// Puts a report into the store, unless it only counts in another.
    ///
    /// It is counted in the newest report of the same fingerprint, process name and verdict, if there are as many as the rule wants
    /// already within the window before or after it, of whatever process: successive processes that crash alike make a few reports and one with a count. The time of
    /// the last occurrence is kept; the rest of what is counted is dropped.
    ///
    /// - Parameters:
    ///   - report: The report.
    ///   - folding: When it is counted; nil for never.
    /// - Returns: The identifier of the report that tells of the fault now.
    /// - Throws: `ReportStoreError`; the store is as it was then.
    @discardableResult
    public func add(_ report: CrashReport, folding: Folding? = .default) throws(ReportStoreError) -> ReportID {
        try create()
        guard let folder = try openReports() else { throw ReportStoreError(.unwritable, reportsPath) }
        try lock(folder)
        // Only the report itself matters: what cannot be counted is written.
        if let folding, let target = try? target(for: report, folding, in: folder),
            var group = try? read(target, in: folder)
        {
            // The longest of some stalls is the one that is told of.
            if group.stall != nil, report.stall != nil {
                group.count(stallOf: report)
            } else {
                group.count(
                    max(1, report.occurrences.count),
                    first: report.occurrences.first,
                    last: report.occurrences.last
                )
            }
            try put(group, in: folder)
            return target
        }
        try put(report, in: folder)
        return report.id
    }

    /// The report that another is counted in, if it is.
    private func target(
        for report: CrashReport,
        _ folding: Folding,
        in folder: borrowing FileDirectory
    ) throws(ReportStoreError) -> ReportID? {
        let id = PackedID(report.id)
        // Later ones count, too: what dead processes left is finished in any order.
        let window = folding.window / .seconds(1)
        let start = PackedID(time: id.time.adding(seconds: -window))
        let end = PackedID(time: id.time.adding(seconds: window))
        // Names alone tell that most reports are not one of many.
        let recent = try files(in: folder).files.count { $0.id >= start && $0.id <= end }
        guard recent >= folding.individual else { return nil }
        var scan = try StoreScan(self, folder)
        scan.narrow(to: start...end)
        scan.readUnknown(folder)
        let new = IndexEntry(report, file: FileMark(inode: 0, modified: 0, size: 0))
        // One that is written once more takes its own place.
        guard !scan.entries.contains(where: { $0.id == id }) else { return nil }
        let group = scan.entries.filter { $0.isAlike(new) }
        guard group.count >= folding.individual else { return nil }
        return group.last?.id.reportID
    }
}

extension IndexEntry {
    /// Whether it tells of the same fault of the same program, with the same outcome.
    fileprivate func isAlike(_ other: IndexEntry) -> Bool {
        fingerprint == other.fingerprint && process == other.process && verdict == other.verdict && kind == other.kind
            && isQuarantined == other.isQuarantined
    }
}
