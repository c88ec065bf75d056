/// How many faults happened in each of some equal stretches of time.
public struct FaultTimeline: Sendable, Hashable {
    /// How long a stretch is, as people call it.
    public enum Unit: String, Sendable, Hashable, CaseIterable, Encodable {
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
        /// Fifty-two weeks.
        case year

        /// Its length in seconds.
        public var seconds: Int64 {
            switch self {
            case .minute: 60
            case .tenMinutes: 600
            case .hour: 3600
            case .day: 86400
            case .week: 604_800
            case .year: 52 * 604_800
            }
        }

        /// Such as `10 minutes`.
        var text: String { self == .tenMinutes ? "10 minutes" : rawValue }
    }

    /// More stretches than these are too many to look at.
    static let mostStretches: Int64 = 60

    /// How long a stretch is.
    public let unit: Unit
    /// When the first stretch begins.
    public let start: Timestamp
    /// The faults of each stretch, the earliest first.
    public private(set) var counts: [Int]

    /// Counts faults.
    ///
    /// The faults of one report happened between the first and the last of them; they are spread evenly over that time.
    ///
    /// - Parameters:
    ///   - occurrences: The faults of the reports.
    ///   - times: From when to when.
    ///   - unit: How long a stretch is; as long as makes 60 of them at most if nil, or if there would be more than 10,000.
    public init(_ occurrences: [CrashReport.Occurrences], in times: ClosedRange<Timestamp>, unit: Unit? = nil) {
        let length = (times.upperBound.microsecondsSinceEpoch - times.lowerBound.microsecondsSinceEpoch) / 1_000_000
        let fitting = Unit.allCases.first { length / $0.seconds < Self.mostStretches } ?? .year
        let unit = unit.flatMap { length / $0.seconds < 10000 ? $0 : nil } ?? fitting
        self.unit = unit
        let seconds = unit.seconds
        // 1970-01-01 was a Thursday.
        let offset: Int64 = seconds % Unit.week.seconds == 0 ? 4 * 86400 : 0
        let first = max(0, Self.floor(times.lowerBound.microsecondsSinceEpoch / 1_000_000 - offset, seconds) + offset)
        start = Timestamp(seconds: first)
        let last = times.upperBound.microsecondsSinceEpoch / 1_000_000
        counts = Array(repeating: 0, count: Int((last - first) / seconds) + 1)
        for occurrence in occurrences { add(occurrence, in: times) }
    }

    /// The time from when to when some faults happened; nil without any.
    static func times(of occurrences: [CrashReport.Occurrences]) -> ClosedRange<Timestamp>? {
        guard let first = occurrences.map(\.first).min(), let last = occurrences.map(\.last).max() else { return nil }
        return first...max(first, last)
    }

    /// When a stretch begins.
    public func start(of index: Int) -> Timestamp {
        Timestamp(seconds: start.microsecondsSinceEpoch / 1_000_000 + Int64(index) * unit.seconds)
    }

    private static func floor(_ value: Int64, _ step: Int64) -> Int64 {
        value - (value % step + step) % step
    }

    private mutating func add(_ occurrence: CrashReport.Occurrences, in times: ClosedRange<Timestamp>) {
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

    private func index(of time: Timestamp) -> Int {
        let seconds = time.microsecondsSinceEpoch / 1_000_000 - start.microsecondsSinceEpoch / 1_000_000
        return Int(Self.floor(seconds, unit.seconds) / unit.seconds)
    }
}
