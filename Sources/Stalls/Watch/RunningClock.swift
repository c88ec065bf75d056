/// A clock that pauses while the process is stopped by a signal or held by a debugger.
///
/// It is told of each sleep of its thread. If a sleep took much longer than planned, the process was stopped. None of that sleep counts:
/// a late finding is better than a false one. A pure state machine; all times are in nanoseconds.
package struct RunningClock {
    /// How late a thread may wake on a busy machine (measured with eight spinning processes on two processors: below 30 ms).
    static let patience: Int64 = 50_000_000

    /// How long the process was stopped so far.
    package private(set) var stoodStill: Int64 = 0
    /// The planned end of the last sleep in which it was, and how much of that did not count.
    private var lastStop: (planned: Int64, amount: Int64) = (.min, 0)

    /// Makes a clock for a running process.
    package init() {}

    /// Notes the end of a sleep.
    ///
    /// - Parameters:
    ///   - begin: When it began.
    ///   - planned: When it should have ended.
    ///   - now: When it ended.
    package mutating func slept(from begin: Int64, until planned: Int64, now: Int64) {
        guard now - planned > Self.patience else { return }
        lastStop = (planned, now - begin)
        stoodStill += lastStop.amount
    }

    /// The time on this clock.
    package func time(at now: Int64) -> Int64 { now - stoodStill }

    /// How long the process had been stopped by a given time, which may lie in or before the sleep of the last stop: that counts from the
    /// planned end of the sleep on.
    package func stoodStill(until time: Int64) -> Int64 {
        time <= lastStop.planned ? stoodStill - lastStop.amount : stoodStill
    }
}
