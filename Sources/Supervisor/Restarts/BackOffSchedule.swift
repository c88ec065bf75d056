/// How long a restart waits: min(cap, base * 2^n), where n counts the early ends one after the other.
package struct BackOffSchedule: Sendable, Hashable {
    /// The first wait.
    package var base = Duration.milliseconds(100)
    /// The longest wait.
    package var cap = Duration.seconds(60)
    /// How long a process must have lived for its end not to be early.
    package var healthyAfter = Duration.seconds(10)

    package init() {}

    /// The wait before the next start.
    ///
    /// - Parameters:
    ///   - earlyEnds: How many processes have ended early, one after the other; with 0 the next starts at once.
    ///   - jitter: From 0 to 1: where between nine and eleven tenths of the wait it is, so that machines that fail together do not
    ///     come back together.
    /// - Returns: The wait, never longer than the cap.
    package func wait(afterEarlyEnds earlyEnds: Int, jitter: Double) -> Duration {
        guard earlyEnds > 0, base > .zero else { return .zero }
        var wait = base
        for _ in 1..<earlyEnds {
            guard wait < cap else { break }
            wait += wait
        }
        return min(cap, wait * (0.9 + 0.2 * min(1, max(0, jitter))))
    }
}

/// What is known of the ends of a program.
///
/// It is written into the store, so that a supervisor that was killed goes on where it was.
package struct EndCount: Sendable, Hashable {
    /// How many processes have ended early, one after the other.
    package private(set) var earlyEnds = 0
    /// How many processes were started after the first.
    package private(set) var restarts = 0

    package init() {}

    /// Reads what `text` wrote; zeros of what is not understood.
    package init(text: String) {
        for word in text.split(whereSeparator: \.isWhitespace) {
            let parts = word.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let number = Int(parts[1]), (0...1_000_000_000).contains(number) else { continue }
            switch parts[0] {
            case "early": earlyEnds = number
            case "restarts": restarts = number
            default: continue
            }
        }
    }

    /// A line of text.
    package var text: String { "early=\(earlyEnds) restarts=\(restarts)\n" }

    /// Counts an end.
    ///
    /// - Parameters:
    ///   - lived: How long the process had lived.
    ///   - isSuccess: Whether the end was a success, which costs no wait.
    ///   - schedule: What is early.
    package mutating func note(lived: Duration, isSuccess: Bool, _ schedule: BackOffSchedule) {
        earlyEnds = isSuccess || lived >= schedule.healthyAfter ? 0 : min(earlyEnds + 1, 1_000_000_000)
    }

    /// Counts a start after an end.
    package mutating func noteRestart() { restarts = min(restarts + 1, 1_000_000_000) }

    /// Forgets the early ends: the process that runs has become healthy.
    package mutating func noteHealth() { earlyEnds = 0 }
}
