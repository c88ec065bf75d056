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
        let bytes = try encode(report)
        try create()
        guard let directory = try openReports() else { throw ReportStoreError(.unwritable, reportsPath) }
        try lock(directory)
        removeLeftovers(in: directory)
        try replace(report.id, with: bytes, in: directory)
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
        try replace(id, with: try encode(report), in: directory)
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

    private func lock(_ directory: borrowing FileDirectory) throws(ReportStoreError) {
        do {
            try directory.lock()
        } catch {
            throw ReportStoreError(.unwritable, reportsPath, error)
        }
    }

    private func replace(
        _ id: ReportID,
        with bytes: [UInt8],
        in directory: borrowing FileDirectory
    ) throws(ReportStoreError) {
        let temporary = ".\(id).tmp"
        do {
            // What a writer that died has left.
            do { try directory.remove(temporary) } catch .noSuchFileOrDirectory {}
            let file = try directory.create(temporary)
            try file.writeAll(bytes)
            try file.synchronize()
            try directory.rename(temporary, to: Self.fileName(id))
            try directory.descriptor.synchronize()
        } catch {
            try? directory.remove(temporary)
            throw ReportStoreError(.unwritable, path(of: id), error)
        }
    }

    /// Removes what writers that died have left: the directory is locked, so nobody is writing.
    private func removeLeftovers(in directory: borrowing FileDirectory) {
        // Readers ignore whatever stays.
        for name in (try? directory.names()) ?? [] where name.hasPrefix(".") && name.hasSuffix(".tmp") {
            try? directory.remove(name)
        }
    }
}
