/// When something that should make progress counts as stalled.
///
/// Time during which the process was stopped (SIGSTOP, a debugger, suspend) does not count, and changes of the wall clock have no effect.
public struct StallRule: Sendable, Hashable {
    /// The time between two looks.
    package let interval: Duration
    /// How many looks in a row must find the same busy period as the look before them.
    package let count: Int

    /// A stall lasts at least this long, and is noticed at most a quarter of that later.
    ///
    /// - Parameter threshold: From a millisecond to four days.
    /// - Returns: The rule.
    public static func once(after threshold: Duration = .milliseconds(250)) -> StallRule {
        StallRule(count: 4, every: max(threshold, .milliseconds(1)) / 4)
    }

    /// A stall is a busy period found by this many looks in a row, after the look that saw it first.
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

    /// How long something must last to be a stall.
    package var threshold: Duration { interval * count }
}
