/// A clock that stands still while the process does: when it was stopped, or a debugger held it.
///
/// It is told of each sleep of the thread that keeps it. One that took much longer than it was to is one in which nobody ran, and none
/// of it counts: a stall is rather told one look later than told where there is none. A pure state machine; nanoseconds throughout.
package struct RunningClock {
    /// How late a thread may wake on a busy machine (measured with eight spinning processes on two processors: below 30 ms).
    static let patience: Int64 = 50_000_000

    /// How long the process stood still so far.
    package private(set) var stoodStill: Int64 = 0
    /// When the last sleep was to end, and how much of it did not count.
    private var last: (planned: Int64, amount: Int64) = (.min, 0)

    /// Makes one for a process that runs.
    package init() {}

    /// Notes the end of a sleep.
    ///
    /// - Parameters:
    ///   - begin: When it began.
    ///   - planned: When it was to end.
    ///   - now: When it ended.
    package mutating func slept(from begin: Int64, until planned: Int64, now: Int64) {
        let isStop = now - planned > Self.patience
        last = (planned, isStop ? now - begin : 0)
        stoodStill += last.amount
    }

    /// The time on this clock.
    package func time(at now: Int64) -> Int64 { now - stoodStill }

    /// How long the process had stood still at a time that may lie in the last sleep: a stop comes at the end of it.
    package func stoodStill(until time: Int64) -> Int64 {
        time <= last.planned ? stoodStill - last.amount : stoodStill
    }
}
