internal import CrashReports

extension HTMLReportPage {
    /// What the timeline and the lists need of a report.
    struct Entry: Sendable {
        let summary: ReportSummary

        var id: ReportID { summary.id }
        var time: Timestamp { summary.timestamp }
        var last: Timestamp { max(summary.timestamp, summary.occurrences.last) }
        var host: String { summary.host.limited(to: 80) }
        /// A count may be anything; this many can be added up without overflow.
        var count: Int { min(max(1, summary.occurrences.count), 1 << 40) }
        var fingerprint: String { summary.fingerprint.rawValue.limited(to: 80) }
        var process: String { summary.process.limited(to: 80) }
        var pid: Int { summary.pid }
        var build: String? { (summary.tags?["release"] ?? summary.buildID).map { $0.limited(to: 40) } }
        var kind: CrashReport.Kind { summary.kind }
        var location: String { summary.location.limited(to: 500) }
        var decision: CrashReport.Verdict.Decision { summary.verdict }
        var isQuarantined: Bool { summary.quarantined ?? false }

        /// Whether somebody wanted that end: an upgrade, a restart, a stop, or work that is done.
        var isWanted: Bool { kind == .death && CrashReport.Death.isOrderly(reason) }

        /// The page says how often by itself.
        var reason: String {
            let suffix = " (\(summary.occurrences.count) times)"
            let hasSuffix = summary.occurrences.count > 1 && summary.reason.hasSuffix(suffix)
            return String(summary.reason.dropLast(hasSuffix ? suffix.count : 0)).limited(to: 500)
        }
    }

    /// Faults of the same cause, the newest first.
    struct Group {
        var entries: [Entry]

        /// How many faults.
        var count: Int { entries.reduce(0) { $0 + $1.count } }
        /// What is counted, in a word.
        var event: String { newest.kind.event }
        /// The newest of them, which gives the group its words.
        var newest: Entry { entries[0] }
        /// When it happened first.
        var first: Timestamp { entries.map(\.time).min() ?? newest.time }
        /// When it happened last.
        var last: Timestamp { entries.map(\.last).max() ?? newest.last }

        /// The worst that became of a process: 0 if one ended, 1 if one was restarted, 2 if all went on, 3 if nothing was wrong.
        var severity: Int {
            entries.reduce(entries.allSatisfy(\.isWanted) ? 3 : 2) { worst, entry in
                switch entry.decision {
                case _ where entry.isWanted: worst
                case .resume, .wait: worst
                case .restart: min(worst, 1)
                default: 0
                }
            }
        }

        /// Whether it did not happen before the last day of a longer time.
        func isNew(in times: ClosedRange<Timestamp>) -> Bool {
            let day = times.upperBound.adding(seconds: -86400)
            return times.lowerBound <= day && first > day
        }

        /// Makes groups, the worst first: what ended a process, what restarted one, what is new, what is frequent.
        ///
        /// - Parameter entries: Reports, the newest first.
        /// - Returns: The groups, their reports in the same order.
        static func groups(of entries: [Entry]) -> [Group] {
            let groups = Dictionary(grouping: entries, by: \.fingerprint).values.map { Group(entries: $0) }
            let times = HTMLReportPage.times(of: entries)
            let keys = groups.map { group in
                let isOld = times.map { !group.isNew(in: $0) } ?? true
                return (group: group, rank: (group.severity, isOld ? 1 : 0, -group.count))
            }
            return keys.sorted { left, right in
                left.rank == right.rank
                    ? left.group.newest.id.rawValue > right.group.newest.id.rawValue : left.rank < right.rank
            }.map(\.group)
        }
    }

    /// Counts faults by their verdicts: the known ones in their order, then all others.
    static func decisions(of entries: [Entry]) -> [(decision: CrashReport.Verdict.Decision, count: Int)] {
        var counts: [CrashReport.Verdict.Decision: Int] = [:]
        for entry in entries { counts[entry.decision, default: 0] += entry.count }
        let known: [CrashReport.Verdict.Decision] = [.resume, .wait, .restart, .terminate]
        let others = counts.keys.filter { !known.contains($0) }.sorted { $0.rawValue < $1.rawValue }
        return (known + others).compactMap { decision in counts[decision].map { (decision, $0) } }
    }
}

/// Numbers and words, as a page says them.
enum HTMLWords {
    /// What became of a process, as a participle.
    static func outcome(_ decision: CrashReport.Verdict.Decision) -> String {
        switch decision {
        case .resume: "resumed"
        case .restart: "restarted"
        case .terminate: "ended"
        case .wait: "stalled"
        default: decision.rawValue
        }
    }

    /// The class of a verdict, which gives it its colour.
    static func style(_ decision: CrashReport.Verdict.Decision) -> String {
        let known: [CrashReport.Verdict.Decision] = [.resume, .restart, .terminate, .wait]
        return known.contains(decision) ? decision.rawValue : "other"
    }

    /// The hour of a time, `06:40:12`.
    static func clock(_ time: Timestamp) -> String { String(time.brief.suffix(8)) }

    /// The day of a time, such as `21 Nov`.
    static func day(_ time: Timestamp) -> String {
        let parts = time.brief.prefix(10).split(separator: "-").compactMap { Int($0) }
        guard parts.count == 3, months.indices.contains(parts[1] - 1) else { return time.brief }
        return "\(parts[2]) \(months[parts[1] - 1])"
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
