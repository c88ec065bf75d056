internal import LinuxSystem

/// The file of a report, as its folder has it.
public struct ReportFile: Sendable, Hashable {
    /// The identifier of the report.
    public let id: ReportID
    /// Another number whenever the report was written anew.
    public let version: UInt64
}

extension ReportStore {
    /// Finds the files of reports, without reading them.
    ///
    /// - Returns: The files, the newest first; none for a store that does not exist.
    /// - Throws: `ReportStoreError` when the directory cannot be read.
    public func reportFiles() throws(ReportStoreError) -> [ReportFile] {
        guard let directory = try openReports(to: .read) else { return [] }
        return try files(in: directory).files.reversed().map { ReportFile(id: $0.id.reportID, version: $0.inode) }
    }

    /// Finds the one report whose identifier starts with some digits, without reading it.
    ///
    /// - Parameter prefix: The whole identifier or its start, in any case.
    /// - Returns: The identifier.
    /// - Throws: `ReportStoreError` when no report or more than one is meant.
    public func identify(prefix: String) throws(ReportStoreError) -> ReportID {
        guard let wanted = PackedID.range(prefix: prefix.lowercased()), let directory = try openReports(to: .read)
        else {
            throw ReportStoreError(.noSuchReport, reportsPath, detail: prefix)
        }
        let found = try files(in: directory).files.filter { wanted.contains($0.id) }
        guard let first = found.first else { throw ReportStoreError(.noSuchReport, reportsPath, detail: prefix) }
        guard found.count == 1 else {
            throw ReportStoreError(.ambiguous, reportsPath, detail: "starts with \(prefix)")
        }
        return first.id.reportID
    }

    /// Reads the bytes of a report's file, whatever they are.
    ///
    /// - Parameter id: The identifier of the report.
    /// - Returns: The bytes.
    /// - Throws: `ReportStoreError` when the file cannot be read, is a symbolic link, belongs to another user or is too large.
    public func bytes(of id: ReportID) throws(ReportStoreError) -> [UInt8] {
        guard let directory = try openReports(to: .read) else {
            throw ReportStoreError(.noSuchReport, reportsPath, detail: id.rawValue)
        }
        return try contents(of: id, in: directory).bytes
    }
}
