internal import RunLoops

/// Counts how late ticks come.
///
/// A pure state machine without a clock of its own; all times are in nanoseconds.
struct TickLedger {
    /// The number of parts of the window; its sum drops one part at a time.
    static let parts = 32

    let period: Int64
    private let limits: TickMonitor.Limits
    private let partLength: Int64
    private var partSums = [Int64](repeating: 0, count: TickLedger.parts)
    private var part: Int64 = 0
    /// When the next tick is due.
    private(set) var due: Int64
    private let start: Int64
    private var last: Int64
    private var ticks = 0
    private var missed = 0
    private var hitch: Int64 = 0
    private var lateness = DurationHistogram()

    init(period: Int64, limits: TickMonitor.Limits, start: Int64) {
        self.period = period
        self.limits = limits
        self.start = start
        due = start + period
        last = start
        partLength = max(1, limits.window.saturatingNanoseconds / Int64(Self.parts))
    }

    /// Takes a tick.
    ///
    /// - Parameters:
    ///   - now: When it came.
    ///   - wait: The loop's last wait, from its beginning to its end.
    /// - Returns: The limit that was exceeded, if any.
    mutating func tick(at now: Int64, wait: ClosedRange<Int64>) -> TickMonitor.Event? {
        // A timer may be early by the clock's granularity.
        let late = max(0, now - due)
        // If the loop was asleep when the tick was due, it did not hold it up: the machine was busy, or the process was stopped.
        let held = wait.contains(due) ? max(0, now - wait.upperBound) : late
        ticks += 1
        missed += Int(late / period)
        hitch += held
        lateness.add(.nanoseconds(late))
        due += (late / period + 1) * period
        last = now
        return event(late: late, held: held, at: now)
    }

    private mutating func event(late: Int64, held: Int64, at now: Int64) -> TickMonitor.Event? {
        advance(to: (now - start) / partLength)
        partSums[Int(part % Int64(Self.parts))] += held
        if let limit = limits.perTick, held > limit.saturatingNanoseconds {
            return .tick(lateness: .nanoseconds(late), heldUp: .nanoseconds(held))
        }
        let sum = partSums.reduce(0, +)
        guard let limit = limits.perWindow, sum > limit.saturatingNanoseconds else { return nil }
        // Told once, and the next window begins. If a tick exceeds its own limit, the window's excess is told with the next tick.
        partSums = [Int64](repeating: 0, count: Self.parts)
        return .window(heldUp: .nanoseconds(sum))
    }

    private mutating func advance(to next: Int64) {
        let steps = next - part
        if steps >= Int64(Self.parts) {
            partSums = [Int64](repeating: 0, count: Self.parts)
        } else if steps > 0 {
            for step in 1...steps { partSums[Int((part + step) % Int64(Self.parts))] = 0 }
        }
        part = max(part, next)
    }

    var statistics: TickStatistics {
        TickStatistics(
            ticks: ticks,
            missed: missed,
            lateness: lateness,
            heldUp: .nanoseconds(hitch),
            elapsed: .nanoseconds(last - start)
        )
    }
}
