/// What the reports of one fingerprint have in common.
package struct ReportGroup: Codable, Sendable, Hashable {
    /// What a group's faults happened to.
    package struct Version: Codable, Sendable, Hashable {
        /// The build identifier of the executable, if it has one.
        package var buildID: String?
        /// The version of Holdfast.
        package var holdfast: String
        /// How often the fault happened to it.
        package var count: Int
    }

    /// What faults of the same cause have in common.
    package var fingerprint: Fingerprint
    /// What the reports are about.
    package var kind: CrashReport.Kind
    /// How often the fault happened.
    package var count: Int
    /// How many reports tell of it.
    package var reports: Int
    /// When it happened first, of what the store still has.
    package var first: Timestamp
    /// When it happened last.
    package var last: Timestamp
    /// The identifier of the newest report.
    package var newest: ReportID
    /// The identifier of the oldest report.
    package var oldest: ReportID
    /// The name of the signal, in the newest report.
    package var signal: String
    /// What went wrong, in the newest report.
    package var reason: String
    /// Where it went wrong, in the newest report.
    package var location: String
    /// The names of the processes that it happened to, sorted.
    package var processes: [String]
    /// How often each verdict was given, by the verdict.
    package var verdicts: [String: Int]
    /// What it happened to, the most recently seen first.
    package var versions: [Version]
    /// How long the longest of the stalls took, in seconds; nil in a group of faults.
    package var longest: Double?

    /// What it is about, in a word: the name of the signal, or `stall`.
    package var subject: String { kind == .stall ? kind.rawValue : signal }
}

/// The groups of a store.
package struct ReportGroupListing: Sendable, Hashable {
    /// The groups, in the order that was asked for.
    package var groups: [ReportGroup]
    /// Files that could not be read, each with the reason.
    package var problems: [ReportStoreError]
}

/// Gathers reports by fingerprint.
struct ReportGrouping {
    fileprivate struct VersionKey: Hashable {
        var buildID: String?
        var holdfast: String
    }

    fileprivate struct Group {
        var newest: IndexEntry
        var oldest: PackedID
        var first: Timestamp
        var last: Timestamp
        var count = 0
        var reports = 0
        var processes: Set<String> = []
        var verdicts: [String: Int] = [:]
        var longest: Int?
        var versions: [VersionKey: (count: Int, last: PackedID)] = [:]
    }

    private var numbers: [String: Int] = [:]
    private var groups: [Group] = []

    mutating func add(_ entry: IndexEntry) {
        let number: Int
        if let known = numbers[entry.fingerprint] {
            number = known
        } else {
            number = groups.count
            numbers[entry.fingerprint] = number
            groups.append(Group(newest: entry, oldest: entry.id, first: entry.first, last: entry.last))
        }
        groups[number].add(entry)
    }

    func groups(order: ReportOrder) -> [ReportGroup] {
        let all = groups.map { $0.group }
        return all.sorted { left, right in
            switch order {
            case .newestFirst where left.last != right.last: left.last > right.last
            case .mostFrequentFirst where left.count != right.count: left.count > right.count
            case .oldestFirst where left.first != right.first: left.first < right.first
            default: left.newest > right.newest
            }
        }
    }
}

extension ReportGrouping.Group {
    fileprivate mutating func add(_ entry: IndexEntry) {
        if entry.id > newest.id { newest = entry }
        oldest = min(oldest, entry.id)
        first = min(first, entry.first)
        last = max(last, entry.last)
        // Counts are what a file says: any number.
        count = count.addingClamped(max(1, entry.count))
        reports += 1
        if let length = entry.longest { longest = max(longest ?? 0, length) }
        processes.insert(entry.process)
        verdicts[entry.verdict, default: 0] = verdicts[entry.verdict, default: 0].addingClamped(max(1, entry.count))
        let key = ReportGrouping.VersionKey(buildID: entry.buildID, holdfast: entry.holdfast)
        var version = versions[key] ?? (0, entry.id)
        version.count = version.count.addingClamped(max(1, entry.count))
        version.last = max(version.last, entry.id)
        versions[key] = version
    }

    fileprivate var group: ReportGroup {
        ReportGroup(
            fingerprint: Fingerprint(rawValue: newest.fingerprint),
            kind: CrashReport.Kind(rawValue: newest.kind),
            count: count,
            reports: reports,
            first: first,
            last: last,
            newest: newest.id.reportID,
            oldest: oldest.reportID,
            signal: newest.signal,
            reason: newest.reason,
            location: newest.location,
            processes: processes.sorted(),
            verdicts: verdicts,
            versions: versions.sorted { $0.value.last > $1.value.last }.map {
                ReportGroup.Version(buildID: $0.key.buildID, holdfast: $0.key.holdfast, count: $0.value.count)
            },
            longest: longest.map { Double($0) / 1e6 }
        )
    }
}

extension Int {
    /// The sum, or the largest number if there is none so large.
    package func addingClamped(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

/// What a store knows of faults with the same cause as a report.
package struct ReportHistory: Sendable, Hashable {
    /// How often the fault happened, this report included.
    package let count: Int
    /// How many reports tell of it, this one included.
    package let reports: Int
    /// When it happened first, of what the store still has.
    package let first: Timestamp
    /// When it happened last.
    package let last: Timestamp
    /// The release or the build that it happened in first; nil if its report names none.
    package let firstBuild: String?
    /// The release or the build of this report.
    package let build: String?
    /// Whether no other report of the cause began before this one.
    package let isNew: Bool

    /// Looks at the reports of a store.
    ///
    /// Nil if the report is not among them.
    ///
    /// - Parameters:
    ///   - report: The report.
    ///   - summaries: Reports of the store, in any order; those of other causes do not count.
    package init?(of report: CrashReport, in summaries: [ReportSummary]) {
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
    package func lines(in zone: DisplayZone) -> [String] {
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
