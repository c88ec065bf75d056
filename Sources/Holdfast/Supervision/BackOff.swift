/// Times that double: how long an item is in quarantine, or a process waits before it serves.
public struct BackOff: Sendable, Hashable {
    /// The first time; each further one is twice as long.
    package var first: Duration
    /// The longest time.
    package var longest: Duration

    /// Makes a back-off.
    public init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
    }

    /// No time at all.
    package static let none = BackOff(first: .zero, longest: .zero)
    /// Once is for ever.
    package static let forever = BackOff(first: .seconds(Int64.max), longest: .seconds(Int64.max))

    /// 100 milliseconds, as RestartSec= of systemd.service(5) has it, up to 15 seconds.
    package static let restarts = BackOff(first: .milliseconds(100), longest: .seconds(15))

    /// The time after so many before; nil for ever.
    func time(after round: Int) -> Duration? {
        self == .forever ? nil : first.doubled(times: round, atMost: longest)
    }

    /// How long a process waits before it serves: the first early end costs nothing.
    ///
    /// The process that was started waits: a handler that restarts cannot.
    ///
    /// - Parameters:
    ///   - earlyEnds: How many ends in a row came early, as `StartAssessment` says.
    ///   - jitter: A number from 0 to 1, at random: so much of half the wait is left out, or all would start at the same moment. What is
    ///     not in the range counts as its nearest end, what is no number as 0.
    /// - Returns: The wait; zero after the first end.
    package func delay(afterEarlyEnds earlyEnds: Int, jitter: Double) -> Duration {
        guard earlyEnds > 1 else { return .zero }
        let wait = first.doubled(times: earlyEnds - 2, atMost: longest)
        let share = jitter.isNaN ? 0 : min(max(jitter, 0), 1)
        return wait - wait * (share / 2)
    }
}
