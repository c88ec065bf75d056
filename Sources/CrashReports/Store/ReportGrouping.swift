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

    func groups(order: ReportGroupOrder) -> [ReportGroup] {
        let all = groups.map { $0.group }
        return all.sorted { left, right in
            switch order {
            case .latestFirst where left.last != right.last: left.last > right.last
            case .mostFrequentFirst where left.count != right.count: left.count > right.count
            case .earliestFirst where left.first != right.first: left.first < right.first
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
    func addingClamped(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
