internal import CrashReports

extension HTMLReportPage {
    /// What the timeline and the lists need of a report.
    struct Entry: Sendable, Hashable {
        let id: ReportID
        let time: Timestamp
        let last: Timestamp
        let count: Int
        let fingerprint: String
        let process: String
        let pid: Int
        let build: String?
        let kind: CrashReport.Kind
        let signal: String
        let reason: String
        let location: String
        let decision: CrashReport.Verdict.Decision
        let isQuarantined: Bool

        init(_ summary: ReportSummary) {
            id = summary.id
            time = summary.timestamp
            last = max(summary.timestamp, summary.occurrences.last)
            // A count may be anything; this many can be added up without overflow.
            count = min(max(1, summary.occurrences.count), 1 << 40)
            fingerprint = summary.fingerprint.rawValue.limited(to: 80)
            process = summary.process.limited(to: 80)
            pid = summary.pid
            build = (summary.tags?["release"] ?? summary.buildID).map { $0.limited(to: 40) }
            kind = summary.kind
            signal = summary.subject.limited(to: 40)
            // The page says how often by itself.
            let suffix = " (\(summary.occurrences.count) times)"
            let hasSuffix = summary.occurrences.count > 1 && summary.reason.hasSuffix(suffix)
            reason = String(summary.reason.dropLast(hasSuffix ? suffix.count : 0)).limited(to: 500)
            location = summary.location.limited(to: 500)
            decision = summary.verdict
            isQuarantined = summary.quarantined ?? false
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

        /// Makes groups, the one that happened last first.
        ///
        /// - Parameter entries: Reports, the newest first.
        /// - Returns: The groups, their reports in the same order.
        static func groups(of entries: [Entry]) -> [Group] {
            let groups = Dictionary(grouping: entries, by: \.fingerprint).values.map { Group(entries: $0) }
            return groups.sorted { ($0.last, $0.newest.id.rawValue) > ($1.last, $1.newest.id.rawValue) }
        }

        /// How many faults of each verdict, the most frequent first.
        var decisions: [(decision: CrashReport.Verdict.Decision, count: Int)] {
            HTMLReportPage.decisions(of: entries)
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
