internal import Glibc
internal import LinuxSystem
public import SystemPackage

/// A directory with crash reports.
///
/// - `reports/<id>.json` is a report, see ``CrashReport``;
/// - `reports/.report.tmp` is a report that somebody is writing, or was when it died: readers ignore it;
/// - `reports/.index` is what lists know of the reports, a cache that may be removed at any time;
/// - `spool/` has the raw records of faults that are not reports yet;
/// - `code/` has what processes have read of their program, a cache.
///
/// A value of this type only names the directory. All methods block on files and may be called from any thread; writers
/// of one store, in whatever process, wait for each other. Reports are taken for the work of an enemy: any bytes in
/// them can make an error, but nothing worse.
public struct ReportStore: Sendable, Hashable {
    /// The directory, from the root.
    public let path: FilePath

    /// How much it may hold, which whoever writes with this value sees to; nil if that is somebody else's business.
    ///
    /// Several limits for one store: the narrowest hold.
    package let limits: Limits?

    /// The largest report that is read or written, in bytes.
    package static let maximumReportBytes = 16 << 20

    /// Opens a store; nothing is read or made yet.
    ///
    /// - Parameter path: The path of its folder.
    public init(_ path: String) {
        self.init(path: FilePath(path))
    }

    /// Names a store, which need not exist.
    ///
    /// - Parameters:
    ///   - path: The directory.
    ///   - limits: How much it may hold, if whoever writes with this value is to see to that.
    package init(path: FilePath, limits: Limits? = nil) {
        self.path = path.fromRoot.lexicallyNormalized()
        self.limits = limits
    }

    /// Where the reports are.
    package var reportsPath: FilePath { path.appending("reports") }

    /// Where raw records wait to become reports.
    package var spoolPath: FilePath { path.appending("spool") }

    /// Tells where a report is, or would be.
    ///
    /// - Parameter id: The identifier of the report.
    /// - Returns: The path of its file.
    package func path(of id: ReportID) -> FilePath {
        reportsPath.appending(Self.fileName(id))
    }

    /// Makes the directories that are missing, for the owner only, and closes those of reports and records to others.
    ///
    /// A store that is there keeps its permissions: it may be a directory that somebody else set up.
    ///
    /// - Throws: `ReportStoreError` when one cannot be made, is a symbolic link, or belongs to another user.
    package func create() throws(ReportStoreError) {
        for directory in [path, reportsPath, spoolPath] {
            do {
                try FileDirectory.create(at: directory)
            } catch {
                throw ReportStoreError(.unwritable, directory, error)
            }
            guard let opened = try open(directory, .change) else {
                throw ReportStoreError(.unwritable, directory)
            }
            guard directory != path else { continue }
            do {
                try opened.closeToOthers()
            } catch {
                throw ReportStoreError(.unwritable, directory, error)
            }
        }
    }

    static func fileName(_ id: ReportID) -> String { "\(id).json" }

    /// Opens the directory of the store, or gives `nil` when there is none.
    func openRoot(to use: Use = .change) throws(ReportStoreError) -> FileDirectory? { try open(path, use) }

    /// Opens the directory of the reports, or gives `nil` when there is none.
    func openReports(to use: Use = .change) throws(ReportStoreError) -> FileDirectory? {
        guard try open(path, use) != nil else { return nil }
        return try open(reportsPath, use)
    }

    /// What a directory is opened for.
    enum Use {
        /// To read, and nothing else: root may, whoever it belongs to.
        case read
        /// To read and to write: what root put into somebody else's store would be refused by its owner.
        case change
    }

    /// Opens a directory that is neither a symbolic link nor somebody else's, or gives `nil` when there is none.
    private func open(_ directory: FilePath, _ use: Use) throws(ReportStoreError) -> FileDirectory? {
        do {
            let opened = try FileDirectory(at: directory)
            let owner = try FileStatus(of: opened.descriptor).owner
            if use == .change || geteuid() != 0 { try Self.check(owner: owner, of: directory) }
            return opened
        } catch let error as ReportStoreError {
            throw error
        } catch Errno.noSuchFileOrDirectory {
            return nil
        } catch Errno.notDirectory {
            let isLink = (try? FileStatus(of: directory))?.kind == .symbolicLink
            guard isLink else { throw ReportStoreError(.wrongKind, directory, detail: "directory") }
            throw ReportStoreError(.symbolicLink, directory, detail: Self.dynamicUserTarget(of: directory)?.string)
        } catch {
            throw ReportStoreError(.unreadable, directory, error as? Errno)
        }
    }
    /// Where systemd keeps the state of units with `DynamicUser=` (systemd.exec(5)); only root may look into it.
    static let privateState = FilePath("/var/lib/private")

    /// Where a symbolic link leads to, if it is one that systemd makes for a unit with `DynamicUser=`.
    private static func dynamicUserTarget(of link: FilePath) -> FilePath? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(link.string, &buffer, buffer.count)
        guard count > 0 else { return nil }
        let text = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let target = link.removingLastComponent().pushing(FilePath(text))
        let path = target.lexicallyNormalized()
        return path.starts(with: privateState) ? path : nil
    }
}

extension ReportStore {
    /// Where the store is when nobody says otherwise.
    ///
    /// By the rule of `StoreLocation`.
    ///
    /// - Parameters:
    ///   - environment: The environment.
    ///   - isTrusted: Whether the environment may say it: not in a set-user-ID program, whose caller writes it.
    /// - Returns: The path of the store.
    /// - Throws: `ReportStoreError` when none of the variables is set, or they are not believed.
    package static func defaultPath(
        environment: [String: String],
        isTrusted: Bool = true
    ) throws(ReportStoreError) -> FilePath {
        guard isTrusted else { throw ReportStoreError(.untrustedLocation, FilePath()) }
        if let path = StoreLocation.path(environment: environment) { return path }
        throw ReportStoreError(.noLocation, FilePath())
    }
}

/// The file of a report, as its folder has it.
package struct ReportFile: Sendable, Hashable {
    /// The identifier of the report.
    package let id: ReportID
    /// Another number whenever the report was written anew.
    package let version: UInt64
}

extension ReportStore {
    /// Finds the files of reports, without reading them.
    ///
    /// - Returns: The files, the newest first; none for a store that does not exist.
    /// - Throws: `ReportStoreError` when the directory cannot be read.
    package func reportFiles() throws(ReportStoreError) -> [ReportFile] {
        guard let directory = try openReports(to: .read) else { return [] }
        return try files(in: directory).files.reversed().map { ReportFile(id: $0.id.reportID, version: $0.inode) }
    }

    /// Finds the one report whose identifier starts with some digits, or in which a fault is listed whose identifier does.
    ///
    /// - Parameter prefix: The whole identifier or its start, in any case.
    /// - Returns: The identifier.
    /// - Throws: `ReportStoreError` when no report or more than one is meant.
    package func identify(prefix: String) throws(ReportStoreError) -> ReportID {
        guard let wanted = PackedID.range(prefix: prefix.lowercased()), let directory = try openReports(to: .read)
        else {
            throw ReportStoreError(.noSuchReport, reportsPath, detail: prefix)
        }
        let found = try files(in: directory).files.reversed().filter { wanted.contains($0.id) }.map(\.id.reportID)
        guard let id = found.first else {
            if let id = try report(listing: wanted, in: directory) { return id }
            throw ReportStoreError(.noSuchReport, reportsPath, detail: prefix)
        }
        guard found.count == 1 else {
            let names = found.prefix(8).map(\.rawValue).joined(separator: ", ") + (found.count > 8 ? ", …" : "")
            throw ReportStoreError(.ambiguous, reportsPath, detail: "starts with \(prefix) (\(names))")
        }
        return id
    }

    /// Reads the bytes of a report's file, whatever they are.
    ///
    /// - Parameter id: The identifier of the report.
    /// - Returns: The bytes.
    /// - Throws: `ReportStoreError` when the file cannot be read, is a symbolic link, belongs to another user or is too large.
    package func bytes(of id: ReportID) throws(ReportStoreError) -> [UInt8] {
        guard let directory = try openReports(to: .read) else {
            throw ReportStoreError(.noSuchReport, reportsPath, detail: id.rawValue)
        }
        return try contents(of: id, in: directory).bytes
    }
}

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
    package func newest() throws(ReportStoreError) -> (report: CrashReport, problems: [ReportStoreError])? {
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
    package func load(prefix: String) throws(ReportStoreError) -> CrashReport {
        try load(identify(prefix: prefix))
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
    private func readMarked(
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

    /// The bytes of a report's file, unread, and which state of the file they are.
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
    private static func check(owner: UInt32, of path: FilePath) throws(ReportStoreError) {
        let user = geteuid()
        guard owner != user else { return }
        throw ReportStoreError(.foreignOwner, path, detail: "uid \(owner), not \(user)")
    }
}
