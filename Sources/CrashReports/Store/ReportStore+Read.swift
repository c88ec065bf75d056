internal import Glibc
internal import LinuxSystem
internal import SystemPackage

extension ReportStore {
    /// The newest report, or `nil` when the store has none.
    ///
    /// - Returns: The report.
    /// - Throws: `ReportStoreError` when it cannot be read.
    public func last() throws(ReportStoreError) -> CrashReport? {
        guard let directory = try openReports(), let id = try identifiers(in: directory).ids.first else { return nil }
        return try read(id, in: directory)
    }

    /// Reads the one report whose identifier starts with some digits.
    ///
    /// - Parameter prefix: The whole identifier or its start, in any case.
    /// - Returns: The report.
    /// - Throws: `ReportStoreError` when no report or more than one is meant, or when it cannot be read.
    public func load(prefix: String) throws(ReportStoreError) -> CrashReport {
        let wanted = prefix.lowercased()
        guard !wanted.isEmpty, let directory = try openReports() else {
            throw ReportStoreError(.noSuchReport, reportsPath, detail: prefix)
        }
        let found = try identifiers(in: directory).ids.filter { $0.rawValue.hasPrefix(wanted) }
        guard let id = found.first else { throw ReportStoreError(.noSuchReport, reportsPath, detail: prefix) }
        guard found.count == 1 else {
            let names = found.prefix(3).map(\.rawValue).joined(separator: ", ") + (found.count > 3 ? ", …" : "")
            throw ReportStoreError(.ambiguous, reportsPath, detail: "starts with \(prefix) (\(names))")
        }
        return try read(id, in: directory)
    }

    /// Lists the reports, the newest first.
    ///
    /// A file that cannot be read does not keep the others from being listed.
    ///
    /// - Parameter limit: How many at most; all of them without a limit.
    /// - Returns: Summaries of the reports, and what could not be read on the way.
    /// - Throws: `ReportStoreError` when the directory itself cannot be read.
    public func summaries(limit: Int? = nil) throws(ReportStoreError) -> ReportListing {
        guard let directory = try openReports() else { return ReportListing(summaries: [], problems: []) }
        let names = try identifiers(in: directory)
        var listing = ReportListing(summaries: [], problems: names.problems)
        for id in names.ids {
            if let limit, listing.summaries.count >= limit { break }
            do {
                let report = try read(id, in: directory)
                listing.summaries.append(ReportSummary(report, path: path(of: id)))
            } catch {
                listing.problems.append(error)
            }
        }
        return listing
    }

    /// Finds the identifiers of all reports, the newest first, and files that are named like none.
    private func identifiers(
        in directory: borrowing FileDirectory
    ) throws(ReportStoreError) -> (ids: [ReportID], problems: [ReportStoreError]) {
        let names: [String]
        do {
            names = try directory.names()
        } catch {
            throw ReportStoreError(.unreadable, reportsPath, error)
        }
        var ids: [ReportID] = []
        var problems: [ReportStoreError] = []
        for name in names.sorted() where name.hasSuffix(".json") && !name.hasPrefix(".") {
            if let id = ReportID(rawValue: String(name.dropLast(5))) {
                ids.append(id)
            } else {
                let detail = "its name is not that of a report"
                problems.append(ReportStoreError(.damaged, reportsPath.appending(name), detail: detail))
            }
        }
        return (ids.sorted(by: >), problems)
    }

    func read(_ id: ReportID, in directory: borrowing FileDirectory) throws(ReportStoreError) -> CrashReport {
        let path = path(of: id)
        let bytes = try contents(of: id, in: directory)
        do {
            let report = try CrashReport(json: bytes)
            guard report.id == id else {
                throw ReportStoreError(.damaged, path, detail: "it is the report \(report.id) under another name")
            }
            return report
        } catch let error as ReportFormatError {
            throw ReportStoreError(error, path)
        } catch {
            throw error as? ReportStoreError ?? ReportStoreError(.damaged, path)
        }
    }

    /// Reads only what tells whose fault it is.
    func outline(of id: ReportID, in directory: borrowing FileDirectory) throws -> ReportOutline {
        try ReportOutline(json: try contents(of: id, in: directory))
    }

    private func contents(of id: ReportID, in directory: borrowing FileDirectory) throws(ReportStoreError) -> [UInt8] {
        let path = path(of: id)
        let bytes: [UInt8]
        do {
            let file = try directory.open(Self.fileName(id))
            let status = try FileStatus(of: file)
            guard status.kind == .regular else { throw ReportStoreError(.wrongKind, path, detail: "regular file") }
            try Self.check(owner: status.owner, of: path)
            bytes = try file.readAll(limit: Self.maximumReportBytes)
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
        return bytes
    }

    /// What belongs to another user could be changed by that user at any time.
    static func check(owner: UInt32, of path: FilePath) throws(ReportStoreError) {
        let user = geteuid()
        guard owner != user else { return }
        throw ReportStoreError(.foreignOwner, path, detail: "uid \(owner), not \(user)")
    }
}
