internal import Glibc
internal import LinuxSystem
public import SystemPackage

/// A directory with crash reports.
///
/// - `reports/<id>.json` is a report, see ``CrashReport``;
/// - `reports/.report.tmp` is a report that somebody is writing, or was when it died: readers ignore it;
/// - `reports/.index` is what lists know of the reports, a cache that may be removed at any time;
/// - `spool/` has the raw records of faults that are not reports yet.
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
    public let limits: Limits?

    /// The largest report that is read or written, in bytes.
    public static let maximumReportBytes = 16 << 20

    /// Names a store, which need not exist.
    ///
    /// - Parameters:
    ///   - path: The directory.
    ///   - limits: How much it may hold, if whoever writes with this value is to see to that.
    public init(path: FilePath, limits: Limits? = nil) {
        self.path = path.fromRoot.lexicallyNormalized()
        self.limits = limits
    }

    /// Where the reports are.
    public var reportsPath: FilePath { path.appending("reports") }

    /// Where raw records wait to become reports.
    public var spoolPath: FilePath { path.appending("spool") }

    /// Tells where a report is, or would be.
    ///
    /// - Parameter id: The identifier of the report.
    /// - Returns: The path of its file.
    public func path(of id: ReportID) -> FilePath {
        reportsPath.appending(Self.fileName(id))
    }

    /// Makes the directories that are missing, for the owner only, and closes those of reports and records to others.
    ///
    /// A store that is there keeps its permissions: it may be a directory that somebody else set up.
    ///
    /// - Throws: `ReportStoreError` when one cannot be made, is a symbolic link, or belongs to another user.
    public func create() throws(ReportStoreError) {
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
