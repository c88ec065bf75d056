/// A length of time, as people call it; the time since 1970 is cut into such, without gaps.
package enum TimeUnit: String, Sendable, Hashable, CaseIterable, Encodable {
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
    /// A year of the calendar.
    case year
    /// Ten years, the first of which can be divided by ten.
    case decade
    /// A hundred years, the first of which can be divided by a hundred.
    case century
    /// A thousand years, the first of which can be divided by a thousand.
    case millennium

    private enum Length {
        case seconds(Int64)
        case years(Int64)
    }

    private var length: Length {
        switch self {
        case .minute: .seconds(60)
        case .tenMinutes: .seconds(600)
        case .hour: .seconds(3600)
        case .day: .seconds(86400)
        case .week: .seconds(604_800)
        case .year: .years(1)
        case .decade: .years(10)
        case .century: .years(100)
        case .millennium: .years(1000)
        }
    }

    /// Whether it begins at midnight.
    package var isOfDays: Bool {
        switch self {
        case .minute, .tenMinutes, .hour: false
        default: true
        }
    }

    /// Such as `10 minutes`.
    package var text: String { self == .tenMinutes ? "10 minutes" : rawValue }

    /// 1970-01-01 was a Thursday: so many seconds later, the first week begins.
    private var offset: Int64 { self == .week ? 4 * 86400 : 0 }

    /// The number of the stretch that a time lies in; the next one's is greater by 1.
    package func number(of time: Timestamp) -> Int64 {
        switch length {
        case .years(let years): return time.year / years
        case .seconds(let seconds):
            // A week that began before 1970 has number -1.
            let since = time.microsecondsSinceEpoch / 1_000_000 - offset
            return since >= 0 ? since / seconds : -1
        }
    }

    /// When the stretch with a number begins; 1970 for one that began before.
    package func start(of number: Int64) -> Timestamp {
        switch length {
        case .years(let years): Timestamp(year: number * years)
        case .seconds(let seconds): Timestamp(seconds: number * seconds + offset)
        }
    }

    /// How many stretches some time takes.
    package func count(in times: ClosedRange<Timestamp>) -> Int {
        Int(number(of: times.upperBound) - number(of: times.lowerBound)) + 1
    }
}
