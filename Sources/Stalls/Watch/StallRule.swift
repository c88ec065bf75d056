/// When something that should go on is called stalled.
///
/// Time during which the process itself stood still (SIGSTOP, a debugger, suspend) does not count, nor does a change of the wall clock.
public struct StallRule: Sendable, Hashable {
    /// The time between two looks.
    package let interval: Duration
    /// How many looks in a row must find it where the look before them did.
    package let count: Int

    /// A stall is what lasts at least this long; noticed within a quarter of that more.
    ///
    /// - Parameter threshold: From a millisecond to four days.
    /// - Returns: The rule.
    public static func once(after threshold: Duration = .milliseconds(250)) -> StallRule {
        StallRule(count: 4, every: max(threshold, .milliseconds(1)) / 4)
    }

    /// A stall is what so many looks in a row find, after the one that saw it first.
    ///
    /// - Parameters:
    ///   - count: How many looks, at least one.
    ///   - interval: The time between two of them, from 250 us to a day.
    /// - Returns: The rule.
    public static func checks(_ count: Int = 3, every interval: Duration = .milliseconds(80)) -> StallRule {
        StallRule(count: count, every: interval)
    }

    private init(count: Int, every interval: Duration) {
        self.interval = min(max(interval, .microseconds(250)), .seconds(86_400))
        self.count = min(max(count, 1), 1_000_000)
    }

    /// What lasts longer is a stall.
    package var threshold: Duration { interval * count }
}
