internal import LinuxSystem
internal import SystemPackage

extension ReportStore {
    /// Puts a report into the store, in the place of one with the same identifier.
    ///
    /// The report gets its name only when all of it lies on the disk: a crash at any moment leaves the old state or the
    /// new one. The directories are made if they are missing.
    ///
    /// - Parameter report: The report.
    /// - Throws: `ReportStoreError`; the store is as it was then.
    package func write(_ report: CrashReport) throws(ReportStoreError) {
        try put(report, in: try openForWriting())
    }

    private func openForWriting() throws(ReportStoreError) -> FileDirectory {
        try create()
        guard let folder = try openReports() else { throw ReportStoreError(.unwritable, reportsPath) }
        try lock(folder)
        return folder
    }

    /// Changes a report of the store.
    ///
    /// No other writer gets in between reading and writing. The file is replaced as by `write`.
    ///
    /// - Parameters:
    ///   - id: The identifier of the report.
    ///   - change: Makes the change; its identifier stays whatever it does.
    /// - Returns: The report as it is now.
    /// - Throws: `ReportStoreError` when there is no such report, or when it cannot be read or written.
    @discardableResult
    package func update(_ id: ReportID, _ change: (inout CrashReport) -> Void) throws(ReportStoreError) -> CrashReport {
        try update(id, known: nil, change).report
    }

    /// A report, and the state of its file when it was written: whoever changes it again need not read it.
    package struct KnownReport: Sendable {
        fileprivate let report: CrashReport
        fileprivate let file: FileMark
    }

    /// The same, for who has changed the report before.
    ///
    /// - Parameters:
    ///   - id: The identifier of the report.
    ///   - known: What the last change returned; not used if the file has changed since.
    ///   - change: Makes the change; its identifier stays whatever it does.
    /// - Returns: The report as it is now.
    /// - Throws: `ReportStoreError` when there is no such report, or when it cannot be read or written.
    package func update(
        _ id: ReportID,
        known: KnownReport?,
        _ change: (inout CrashReport) -> Void
    ) throws(ReportStoreError) -> KnownReport {
        guard let directory = try openReports() else {
            throw ReportStoreError(.noSuchReport, reportsPath, detail: id.rawValue)
        }
        try lock(directory)
        var report: CrashReport
        let status = try? FileStatus(of: Self.fileName(id), in: directory)
        if let known, let status, known.report.id == id, known.file == FileMark(status) {
            report = known.report
        } else {
            report = try read(id, in: directory)
        }
        change(&report)
        report.id = id
        return KnownReport(report: report, file: try put(report, in: directory))
    }

    private func encode(_ report: CrashReport) throws(ReportStoreError) -> [UInt8] {
        let path = path(of: report.id)
        do {
            let bytes = try report.json()
            guard bytes.count <= Self.maximumReportBytes else { throw ReportStoreError(.tooLarge, path) }
            return bytes
        } catch let error as ReportFormatError {
            throw ReportStoreError(error, path)
        } catch {
            throw error as? ReportStoreError ?? ReportStoreError(.unwritable, path)
        }
    }

    func lock(_ directory: borrowing FileDirectory) throws(ReportStoreError) {
        do {
            try directory.lock()
        } catch {
            throw ReportStoreError(.unwritable, reportsPath, error)
        }
    }

    /// Puts a report into the folder, which must be locked, and sees to the index and to the limits; returns the state of its file.
    @discardableResult
    func put(_ report: CrashReport, in folder: borrowing FileDirectory) throws(ReportStoreError) -> FileMark {
        let bytes = try encode(report)
        let name = Self.fileName(report.id)
        let tally: StoreTally
        let mark: FileMark
        do {
            // What a writer that died has left.
            do { try folder.remove(Self.temporaryName) } catch .noSuchFileOrDirectory {}
            let file = try folder.create(Self.temporaryName)
            try file.writeAll(bytes)
            try file.synchronize()
            // Before the report: if this is the end of the process, the index knows a file that is not there, and no more.
            mark = FileMark(try FileStatus(of: file))
            tally = note(IndexEntry(report, file: mark), in: folder)
            try folder.rename(Self.temporaryName, to: name)
            try folder.descriptor.synchronize()
        } catch {
            try? folder.remove(Self.temporaryName)
            throw ReportStoreError(.unwritable, path(of: report.id), error)
        }
        maintain(folder, tally: tally)
        return mark
    }

    /// Tells the index of a report that is about to get its name.
    ///
    /// - Returns: How much the store will hold.
    private func note(_ entry: IndexEntry, in folder: borrowing FileDirectory) -> StoreTally {
        let old = try? FileStatus(of: Self.fileName(entry.id.reportID), in: folder)
        guard let index = try? IndexAppender(in: folder), let place = try? StorePlace(folder) else {
            return StoreTally()
        }
        var tally = index.tally
        tally.reports = tally.reports.map { $0.addingClamped(old == nil ? 1 : 0) }
        tally.bytes = max(0, tally.bytes.addingClamped(Int(entry.file.size) - Int(old?.size ?? 0)))
        return index.append(entry, tally: tally, place: place, in: folder)
    }

    /// The report that somebody is writing: only whoever has the lock does.
    static let temporaryName = ".report.tmp"
}

extension ReportStore {
    /// When a report is only counted in one that is there: a program that crashes again and again must not bury the rest.
    package struct Folding: Sendable, Hashable {
        /// Reports of a fault within the window that are kept one by one; those after them are counted.
        package var individual: Int
        /// How far back to look for them.
        package var window: Duration

        /// Makes a rule; fewer than two individual reports count as two, so that the first and the last stay apart.
        package init(individual: Int, window: Duration) {
            self.individual = max(2, individual)
            self.window = window
        }

        /// From the 33rd report of a fault within five minutes on.
        ///
        /// Whoever starts looks at the faults of the last five minutes (`RecentFaults`), and finds more than enough of them to see
        /// a crash loop.
        package static let `default` = Folding(individual: 32, window: .seconds(300))
    }

    /// Puts a report into the store, unless it only counts in another.
    ///
    /// It is counted in the newest report of the same fingerprint, process name and verdict, if there are as many as the rule wants
    /// already within the window before or after it, of whatever process: successive processes that crash alike make a few reports
    /// and one with a count. The time of the last occurrence is kept; the rest of what is counted is dropped.
    ///
    /// - Parameters:
    ///   - report: The report.
    ///   - folding: When it is counted; nil for never.
    /// - Returns: The identifier of the report that tells of the fault now.
    /// - Throws: `ReportStoreError`; the store is as it was then.
    @discardableResult
    package func add(_ report: CrashReport, folding: Folding? = .default) throws(ReportStoreError) -> ReportID {
        let folder = try openForWriting()
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
                group.list(report.asOthers)
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
        let new = IndexEntry(report, file: .none)
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
        isQuarantined == other.isQuarantined && self.fingerprint == other.fingerprint && self.process == other.process
            && self.verdict == other.verdict && self.kind == other.kind
    }
}

extension ReportStore {
    /// Counts a stall that is over in the report of an earlier one of the same cause, in whose place it no longer needs its own.
    ///
    /// - Parameters:
    ///   - report: The report of the stall.
    ///   - earlier: The other report; nil for none.
    /// - Returns: The identifier of the report that tells of the stall now.
    /// - Throws: `ReportStoreError`; what is in the store stays then.
    package func finish(stall report: CrashReport, countingIn earlier: ReportID?) throws(ReportStoreError) -> ReportID {
        let folder = try openForWriting()
        // Only the report itself matters: what cannot be counted is written.
        guard let earlier, earlier != report.id, var group = try? read(earlier, in: folder), group.kind == .stall,
            group.fingerprint == report.fingerprint
        else {
            try put(report, in: folder)
            return report.id
        }
        group.count(stallOf: report)
        try put(group, in: folder)
        // Last: who dies here leaves a stall that is told twice, and none that is not told.
        do throws(Errno) {
            do { try folder.remove(Self.fileName(report.id)) } catch .noSuchFileOrDirectory {}
        } catch {
            throw ReportStoreError(.unwritable, path(of: report.id), error)
        }
        return earlier
    }
}
