internal import LinuxSystem
internal import SystemPackage

extension ReportStore {
    /// Counts a stall that is over in the report of an earlier one of the same cause, in whose place it no longer needs its own.
    ///
    /// - Parameters:
    ///   - report: The report of the stall.
    ///   - earlier: The other report; nil for none.
    /// - Returns: The identifier of the report that tells of the stall now.
    /// - Throws: `ReportStoreError`; what is in the store stays then.
    public func finish(stall report: CrashReport, countingIn earlier: ReportID?) throws(ReportStoreError) -> ReportID {
        try create()
        guard let folder = try openReports() else { throw ReportStoreError(.unwritable, reportsPath) }
        try lock(folder)
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
