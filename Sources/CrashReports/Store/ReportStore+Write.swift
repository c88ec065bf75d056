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
    public func write(_ report: CrashReport) throws(ReportStoreError) {
        try create()
        guard let directory = try openReports() else { throw ReportStoreError(.unwritable, reportsPath) }
        try lock(directory)
        try put(report, in: directory)
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
    public func update(_ id: ReportID, _ change: (inout CrashReport) -> Void) throws(ReportStoreError) -> CrashReport {
        guard let directory = try openReports() else {
            throw ReportStoreError(.noSuchReport, reportsPath, detail: id.rawValue)
        }
        try lock(directory)
        var report = try read(id, in: directory)
        change(&report)
        report.id = id
        try put(report, in: directory)
        return report
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

    /// Puts a report into the folder, which must be locked, and sees to the index and to the limits.
    func put(_ report: CrashReport, in folder: borrowing FileDirectory) throws(ReportStoreError) {
        let bytes = try encode(report)
        let name = Self.fileName(report.id)
        let tally: StoreTally
        do {
            // What a writer that died has left.
            do { try folder.remove(Self.temporaryName) } catch .noSuchFileOrDirectory {}
            let file = try folder.create(Self.temporaryName)
            try file.writeAll(bytes)
            try file.synchronize()
            // Before the report: if this is the end of the process, the index knows a file that is not there, and no more.
            let entry = IndexEntry(report, file: FileMark(try FileStatus(of: file)))
            tally = note(entry, in: folder)
            try folder.rename(Self.temporaryName, to: name)
            try folder.descriptor.synchronize()
        } catch {
            try? folder.remove(Self.temporaryName)
            throw ReportStoreError(.unwritable, path(of: report.id), error)
        }
        maintain(folder, tally: tally)
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
