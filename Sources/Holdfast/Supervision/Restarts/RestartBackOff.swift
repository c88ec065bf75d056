/// How long to wait before a start that follows early ends: longer each time, and not all at the same moment.
///
/// The process that was started waits, before it serves: a handler that restarts cannot.
public struct RestartBackOff: Sendable, Hashable {
    /// The wait after the second early end in a row; the first costs none, and each further one doubles it.
    public var first: Duration
    /// The longest wait.
    public var longest: Duration

    /// Makes a back-off.
    public init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
    }

    /// No wait.
    public static let none = RestartBackOff(first: .zero, longest: .zero)
    /// 100 milliseconds, as RestartSec= of systemd.service(5) has it, up to 15 seconds.
    public static let `default` = RestartBackOff(first: .milliseconds(100), longest: .seconds(15))

    /// The wait before a start.
    ///
    /// - Parameters:
    ///   - earlyEnds: How many ends in a row came early, as `StartAssessment` says.
    ///   - jitter: A number from 0 to 1, at random: so much of half the wait is left out. What is not in the range counts
    ///     as its nearest end, what is no number as 0.
    /// - Returns: The wait; zero after the first end.
    package func delay(afterEarlyEnds earlyEnds: Int, jitter: Double) -> Duration {
        guard earlyEnds > 1 else { return .zero }
        let wait = first.doubled(times: earlyEnds - 2, atMost: longest)
        let share = jitter.isNaN ? 0 : min(max(jitter, 0), 1)
        return wait - wait * (share / 2)
    }
}
