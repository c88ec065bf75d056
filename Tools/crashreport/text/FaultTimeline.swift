package import CrashReports

/// A length of time, as people call it; the time since 1970 is cut into such, without gaps.
package enum TimeUnit: String, Sendable, Hashable, CaseIterable {
    /// A minute.
    case minute
    /// Ten minutes.
    case tenMinutes = "ten-minutes"
    /// An hour.
    case hour
    /// A day.
    case day
    /// Seven days; they begin on Mondays.
    case week
}

/// How many faults happened in each of some stretches of time, one after the other.
package struct FaultTimeline: Sendable, Hashable {
    /// More stretches than these are too many to look at.
    private static let mostStretches = 60
    /// More stretches than these are not made, even if they are asked for.
    package static let mostStretchesAskedFor = 10000

    /// Of what a stretch is made.
    package let unit: TimeUnit
    /// How many units a stretch is: more than one only where so many weeks would be too many stretches.
    private let multiple: Int64
    /// The number of the first stretch since 1970.
    private let first: Int64
    /// The faults of each stretch, the earliest first; none without faults.
    package private(set) var counts: [Int] = []

    /// Counts faults.
    ///
    /// The faults of one report happened between the first and the last of them; they are spread evenly over that time.
    ///
    /// - Parameters:
    ///   - occurrences: The faults of the reports.
    ///   - times: From when to when.
    ///   - unit: How long a stretch is; as long as makes 60 of them at most if nil, or if there would be more than 10,000.
    package init(_ occurrences: [CrashReport.Occurrences], in times: ClosedRange<Timestamp>, unit: TimeUnit? = nil) {
        func count(_ unit: TimeUnit, _ multiple: Int64 = 1) -> Int {
            let numbers = [times.upperBound, times.lowerBound].map { Self.number(of: $0, unit, multiple) }
            return Int(numbers[0] - numbers[1]) + 1
        }
        let wanted = unit.flatMap { count($0) <= Self.mostStretchesAskedFor ? $0 : nil }
        let chosen = wanted ?? TimeUnit.allCases.first { count($0) <= Self.mostStretches } ?? .week
        // One stretch may begin before the first fault.
        let isTooLong = wanted == nil && count(chosen) > Self.mostStretches
        let multiple = isTooLong ? Int64(count(chosen) / (Self.mostStretches - 1) + 1) : 1
        (self.unit, self.multiple) = (chosen, multiple)
        first = Self.number(of: times.lowerBound, chosen, multiple)
        guard !occurrences.isEmpty else { return }
        counts = Array(repeating: 0, count: count(chosen, multiple))
        for occurrence in occurrences { add(occurrence) }
    }

    /// How long a stretch is: the name of its unit, or how many weeks.
    package var stretch: String {
        multiple > 1 ? "\(multiple) weeks" : unit == .tenMinutes ? "10 minutes" : unit.rawValue
    }

    /// Whether stretches begin at midnight.
    var isOfDays: Bool { unit == .day || unit == .week }

    /// When a stretch begins; none begins before 1970.
    package func start(of index: Int) -> Timestamp {
        Timestamp(seconds: (first + Int64(index)) * Self.seconds(unit) * multiple + Self.offset(unit))
    }

    private static func number(of time: Timestamp, _ unit: TimeUnit, _ multiple: Int64) -> Int64 {
        let since = time.microsecondsSinceEpoch / 1_000_000 - offset(unit)
        // The days before the first Monday are a stretch of their own.
        return since >= 0 ? since / (seconds(unit) * multiple) : -1
    }

    private static func seconds(_ unit: TimeUnit) -> Int64 {
        switch unit {
        case .minute: 60
        case .tenMinutes: 600
        case .hour: 3600
        case .day: 86400
        case .week: 604_800
        }
    }

    /// 1970 began on a Thursday.
    private static func offset(_ unit: TimeUnit) -> Int64 { unit == .week ? 4 * 86400 : 0 }

    private mutating func add(_ occurrence: CrashReport.Occurrences) {
        let (first, last) = (index(of: occurrence.first), index(of: max(occurrence.first, occurrence.last)))
        let count = max(1, occurrence.count)
        // Only what lies in the time that was asked for counts; without more knowledge, each stretch has its share.
        let spread = last - first + 1
        let (share, rest) = count.quotientAndRemainder(dividingBy: spread)
        for index in max(0, first)..<max(max(0, first), min(counts.count, last + 1)) {
            // What does not divide evenly is put where it is known that there was one: at the end, and at the start.
            let isExtra = index - first < rest / 2 || last - index < rest - rest / 2
            counts[index] = counts[index].addingClamped(share + (isExtra ? 1 : 0))
        }
    }

    private func index(of time: Timestamp) -> Int { Int(Self.number(of: time, unit, multiple) - first) }
}
