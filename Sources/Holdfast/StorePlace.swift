internal import CrashCapture
internal import CrashReports
internal import LinuxSystem
internal import SystemPackage

/// Where the reports of a host go.
struct StorePlace {
    /// The variable that tells the next process where this one's relative paths begin: it may have changed its directory.
    static let variable = "HOLDFAST_START_FOLDER"

    /// The store, which need not be usable.
    let store: ReportStore
    /// Why there is none; nil where there may be one.
    let problem: ReportStoreError?
    /// What the next process needs to find the same store, as `key=value`; nil for nothing.
    let entry: String?

    /// Finds the store.
    ///
    /// - Parameters:
    ///   - path: The path that the program gave; nil for the default.
    ///   - environment: The environment that the process began with.
    ///   - isRestarted: Whether it is one that a restart of this very process made.
    ///   - limits: How much the store may hold.
    init(
        _ path: FilePath?,
        environment: [String: String],
        isRestarted: Bool,
        limits: ReportStore.Limits?
    ) {
        var given = path
        var problem: ReportStoreError?
        if given == nil {
            do throws(ReportStoreError) {
                given = try ReportStore.defaultPath(
                    environment: environment,
                    isTrusted: !CrashCapture.actsForAnother
                )
            } catch {
                problem = error
            }
        }
        self.problem = problem
        // No directory can be made there: what is no path must not name the one that the process happens to be in.
        let path = given ?? "/dev/null/holdfast"
        guard path.isRelative else {
            store = ReportStore(path: path, limits: limits)
            entry = nil
            return
        }
        let first = isRestarted ? environment[Self.variable].map { FilePath($0) } : nil
        let folder = first.flatMap { $0.isAbsolute ? $0 : nil } ?? FilePath(".").fromRoot.lexicallyNormalized()
        store = ReportStore(path: folder.pushing(path), limits: limits)
        entry = "\(Self.variable)=\(folder.string)"
    }
}

extension StoreLimits {
    /// The limits of a store, for the process that finishes the records of this one.
    init(_ limits: ReportStore.Limits) {
        self.init(
            reports: limits.reports,
            bytes: limits.bytes,
            ageSeconds: limits.age.map { Int(clamping: $0.components.seconds) }
        )
    }
}
