/// What a store knows of faults with the same cause as a report.
public struct ReportHistory: Sendable, Hashable {
    /// How often the fault happened, this report included.
    public let count: Int
    /// How many reports tell of it, this one included.
    public let reports: Int
    /// When it happened first, of what the store still has.
    public let first: Timestamp
    /// When it happened last.
    public let last: Timestamp
    /// The release or the build that it happened in first; nil if its report names none.
    public let firstBuild: String?
    /// The release or the build of this report.
    public let build: String?
    /// Whether no other report of the cause began before this one.
    public let isNew: Bool

    /// Looks at the reports of a store.
    ///
    /// Nil if the report is not among them.
    ///
    /// - Parameters:
    ///   - report: The report.
    ///   - summaries: Reports of the store, in any order; those of other causes do not count.
    public init?(of report: CrashReport, in summaries: [ReportSummary]) {
        let group = summaries.filter { $0.fingerprint == report.fingerprint }
        guard let own = group.first(where: { $0.id == report.id }) else { return nil }
        let begun = group.min { ($0.occurrences.first, $0.id.rawValue) < ($1.occurrences.first, $1.id.rawValue) }
        let oldest = begun ?? own
        count = group.reduce(0) { $0.addingClamped(max(1, $1.occurrences.count)) }
        reports = group.count
        first = oldest.occurrences.first
        last = group.map(\.occurrences.last).max() ?? own.occurrences.last
        firstBuild = oldest.build
        build = own.build
        isNew = oldest.id == own.id
    }

    /// It in words, in two lines at most.
    func lines(in zone: DisplayZone) -> [String] {
        let times = "first \(zone.brief(first)), last \(zone.stamp(last))"
        let builds = firstBuild.map { first in
            "since \(first)" + (build.map { $0 == first ? ", which is this build" : "; this is \($0)" } ?? "")
        }
        guard count > 1 else { return ["new: never seen before in this store" + (build.map { ", \($0)" } ?? "")] }
        let often = Count.times(count) + (reports > 1 ? " in \(reports) reports" : "")
        let word = !isNew ? "known" : reports == 1 ? "new" : "new then"
        return ["\(word): \(often), \(times)"] + (builds.map { [$0] } ?? [])
    }
}

extension ReportSummary {
    /// The release if a tag names it, else the start of the build identifier.
    fileprivate var build: String? {
        tags?["release"].map { "release \($0)" } ?? buildID.map { "build \($0.prefix(8))" }
    }
}
