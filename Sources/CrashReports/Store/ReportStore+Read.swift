internal import Glibc
internal import LinuxSystem
internal import SystemPackage

extension ReportStore {
    /// The newest report that can be read, or `nil` when the store has none.
    ///
    /// - Returns: The report.
    /// - Throws: `ReportStoreError` when there are files of reports, and none of them can be read: what is wrong with the newest.
    public func last() throws(ReportStoreError) -> CrashReport? {
        try newest()?.report
    }

    /// The newest report that can be read, and what is wrong with files that are newer; `nil` when the store has none.
    ///
    /// - Returns: The report, and the problems, the newest file's first.
    /// - Throws: `ReportStoreError` when there are files of reports, and none of them can be read: what is wrong with the newest.
    public func newest() throws(ReportStoreError) -> (report: CrashReport, problems: [ReportStoreError])? {
        guard let directory = try openReports(to: .read) else { return nil }
        var problems: [ReportStoreError] = []
        for file in try files(in: directory).files.reversed() {
            do {
                return (try read(file.id.reportID, in: directory), problems)
            } catch {
                // Removed since: there is nothing wrong with that.
                if error.code != .noSuchReport { problems.append(error) }
            }
        }
        guard let first = problems.first else { return nil }
        throw first
    }

    /// Reads the one report whose identifier starts with some digits.
    ///
    /// - Parameter prefix: The whole identifier or its start, in any case.
    /// - Returns: The report.
    /// - Throws: `ReportStoreError` when no report or more than one is meant, or when it cannot be read.
    public func load(prefix: String) throws(ReportStoreError) -> CrashReport {
        guard let wanted = PackedID.range(prefix: prefix.lowercased()), let directory = try openReports(to: .read)
        else {
            throw ReportStoreError(.noSuchReport, reportsPath, detail: prefix)
        }
        let found = try files(in: directory).files.reversed().filter { wanted.contains($0.id) }.map(\.id.reportID)
        guard let id = found.first else { throw ReportStoreError(.noSuchReport, reportsPath, detail: prefix) }
        guard found.count == 1 else {
            let names = found.prefix(3).map(\.rawValue).joined(separator: ", ") + (found.count > 3 ? ", …" : "")
            throw ReportStoreError(.ambiguous, reportsPath, detail: "starts with \(prefix) (\(names))")
        }
        return try read(id, in: directory)
    }

    /// Reads a report.
    ///
    /// - Parameter id: The identifier of the report.
    /// - Returns: The report.
    /// - Throws: `ReportStoreError` when there is none or it cannot be read.
    public func load(_ id: ReportID) throws(ReportStoreError) -> CrashReport {
        guard let directory = try openReports(to: .read) else {
            throw ReportStoreError(.noSuchReport, reportsPath, detail: id.rawValue)
        }
        return try read(id, in: directory)
    }

    func read(_ id: ReportID, in directory: borrowing FileDirectory) throws(ReportStoreError) -> CrashReport {
        try readMarked(id, in: directory).report
    }

    /// Reads a report, and says which state of its file it was.
    func readMarked(
        _ id: ReportID,
        in directory: borrowing FileDirectory
    ) throws(ReportStoreError) -> (report: CrashReport, mark: FileMark) {
        let path = path(of: id)
        let (bytes, mark) = try contents(of: id, in: directory)
        do {
            let report = try CrashReport(json: bytes)
            guard report.id == id else {
                throw ReportStoreError(.damaged, path, detail: "it is the report \(report.id) under another name")
            }
            return (report, mark)
        } catch let error as ReportFormatError {
            throw ReportStoreError(error, path)
        } catch {
            throw error as? ReportStoreError ?? ReportStoreError(.damaged, path)
        }
    }

    /// Reads what a list says of a report.
    func readEntry(_ id: ReportID, in directory: borrowing FileDirectory) throws(ReportStoreError) -> IndexEntry {
        let (report, mark) = try readMarked(id, in: directory)
        return IndexEntry(report, file: mark)
    }

    /// Reads only what tells whose fault it is.
    func outline(of id: ReportID, in directory: borrowing FileDirectory) throws -> ReportOutline {
        try ReportOutline(json: try contents(of: id, in: directory).bytes)
    }

    func contents(
        of id: ReportID,
        in directory: borrowing FileDirectory
    ) throws(ReportStoreError) -> (bytes: [UInt8], mark: FileMark) {
        let path = path(of: id)
        let bytes: [UInt8]
        let mark: FileMark
        do {
            let file = try directory.open(Self.fileName(id))
            let status = try FileStatus(of: file)
            guard status.kind == .regular else { throw ReportStoreError(.wrongKind, path, detail: "regular file") }
            // Root was let into somebody else's folder to read it, and what is in it is that user's, too.
            if try status.owner != FileStatus(of: directory.descriptor).owner || geteuid() != 0 {
                try Self.check(owner: status.owner, of: path)
            }
            // One more than its size: whoever writes into it while it is read gets nothing damaged taken for whole.
            bytes = try file.contents(Int(min(status.size, Int64(Self.maximumReportBytes))) + 1)
            mark = FileMark(status)
        } catch let error as ReportStoreError {
            throw error
        } catch Errno.tooManySymbolicLinkLevels {
            throw ReportStoreError(.symbolicLink, path)
        } catch Errno.noSuchFileOrDirectory {
            throw ReportStoreError(.noSuchReport, reportsPath, detail: id.rawValue)
        } catch {
            throw ReportStoreError(.unreadable, path, error as? Errno)
        }
        guard bytes.count <= Self.maximumReportBytes else { throw ReportStoreError(.tooLarge, path) }
        return (bytes, mark)
    }

    /// What belongs to another user could be changed by that user at any time.
    static func check(owner: UInt32, of path: FilePath) throws(ReportStoreError) {
        let user = geteuid()
        guard owner != user else { return }
        throw ReportStoreError(.foreignOwner, path, detail: "uid \(owner), not \(user)")
    }
}
