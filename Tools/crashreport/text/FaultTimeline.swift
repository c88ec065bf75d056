package import CrashReports

/// How many faults happened in each of some stretches of time, one after the other.
package struct FaultTimeline: Sendable, Hashable {
    /// More stretches than these are too many to look at.
    package static let mostStretches = 60
    /// More stretches than these are not made, even if they are asked for.
    package static let mostStretchesAskedFor = 10000

    /// How long a stretch is.
    package let unit: TimeUnit
    /// The number of the first stretch since 1970.
    private let first: Int64
    /// The faults of each stretch, the earliest first; none without faults.
    package private(set) var counts: [Int]

    /// Counts faults.
    ///
    /// The faults of one report happened between the first and the last of them; they are spread evenly over that time.
    ///
    /// - Parameters:
    ///   - occurrences: The faults of the reports.
    ///   - times: From when to when.
    ///   - unit: How long a stretch is; as long as makes 60 of them at most if nil, or if there would be more than 10,000.
    package init(_ occurrences: [CrashReport.Occurrences], in times: ClosedRange<Timestamp>, unit: TimeUnit? = nil) {
        let wanted = unit.flatMap { $0.count(in: times) <= Self.mostStretchesAskedFor ? $0 : nil }
        self.unit = wanted ?? TimeUnit.allCases.first { $0.count(in: times) <= Self.mostStretches } ?? .millennium
        first = self.unit.number(of: times.lowerBound)
        counts = Array(repeating: 0, count: occurrences.isEmpty ? 0 : self.unit.count(in: times))
        for occurrence in occurrences { add(occurrence) }
    }

    /// The time from when to when some faults happened; nil without any.
    static func times(of occurrences: [CrashReport.Occurrences]) -> ClosedRange<Timestamp>? {
        guard let first = occurrences.map(\.first).min(), let last = occurrences.map(\.last).max() else { return nil }
        return first...max(first, last)
    }

    /// When a stretch begins; none begins before 1970.
    package func start(of index: Int) -> Timestamp { unit.start(of: first + Int64(index)) }

    private mutating func add(_ occurrence: CrashReport.Occurrences) {
        let (first, last) = (index(of: occurrence.first), index(of: max(occurrence.first, occurrence.last)))
        let count = max(1, occurrence.count)
        // Only what lies in the time that was asked for counts; without more knowledge, each stretch has its share.
        let spread = last - first + 1
        let (share, rest) = count.quotientAndRemainder(dividingBy: spread)
        for index in max(0, first)..<max(max(0, first), min(counts.count, last + 1)) {
            // What does not divide evenly is put where it is known that there was one: at the end, and at the start.
            let isExtra = index - first < rest / 2 || last - index < rest - rest / 2
            let (sum, isOverflow) = counts[index].addingReportingOverflow(share + (isExtra ? 1 : 0))
            counts[index] = isOverflow ? .max : sum
        }
    }

    private func index(of time: Timestamp) -> Int { Int(unit.number(of: time) - first) }
}
