import LinuxSystem
import Synchronization

/// The runs of a loop, one inside the other: in which mode each is, when it ends, and whether it was told to.
final class RunStack: @unchecked Sendable {
    // Written with the loop's lock held.
    /// The mode of the innermost run.
    @safe @exclusivity(unchecked) private var innermost: LoopMode?
    /// Whether the innermost run was told to stop; its thread clears it without the lock.
    private let stopped = Atomic<Bool>(false)
    private let count = Atomic<Int>(0)

    // Written by any thread.
    private let allEnd = Atomic<Bool>(false)
    /// Written before `allEnd`.
    private let requestEnd = Atomic<Int64>(.max)

    // Written by the loop's thread.
    private let passes = Atomic<UInt64>(0)
    /// The stage that the innermost run is in.
    @safe @exclusivity(unchecked) private(set) var stage: Activity = []
    /// Counts the beginnings and ends of runs: tells whether harvested events are of this run.
    @safe @exclusivity(unchecked) private(set) var number: UInt64 = 0
    /// The deadlines of all runs on the stack.
    @safe @exclusivity(unchecked) private var deadlines: [RunDeadline] = []

    typealias Activity = HostRunLoop.Activity

    /// What the end of a run restores.
    struct Outer {
        fileprivate let mode: LoopMode?
        fileprivate let isStopped: Bool
        fileprivate let stage: Activity
    }

    // MARK: Any thread

    /// How many runs are active.
    var depth: Int { count.load(ordering: .acquiring) }

    /// How many passes were begun in the life of the loop.
    var passCount: UInt64 { passes.load(ordering: .acquiring) }

    /// Whether the innermost run was told to stop.
    ///
    /// Sequentially consistent, as is `stop`: whoever stops wakes afterwards, and a pass looks after it has begun to take wake-ups.
    var isStopped: Bool { stopped.load(ordering: .sequentiallyConsistent) }

    /// Whether the thread is about to end: no run goes on after its present pass.
    @inline(__always)
    var areAllEnding: Bool { allEnd.load(ordering: .acquiring) }

    /// Until when requests may wait for their answers then: nanoseconds on the monotonic clock.
    var endOfRequests: Int64 { requestEnd.load(ordering: .relaxed) }

    /// Notes that all runs are to end, now and later; only the first call says until when requests may wait.
    func endAll(requestsBefore end: Int64) {
        _ = requestEnd.compareExchange(expected: .max, desired: end, ordering: .relaxed)
        allEnd.store(true, ordering: .sequentiallyConsistent)
    }

    // MARK: With the loop's lock held

    /// The mode of the innermost run, or `nil` while the loop does not run.
    var mode: LoopMode? { innermost }

    /// Tells the innermost run to stop, and says whether there is one.
    func stop() -> Bool {
        guard innermost != nil else { return false }
        stopped.store(true, ordering: .sequentiallyConsistent)
        return true
    }

    /// A run begins in a mode.
    func enter(_ mode: LoopMode) -> Outer {
        let outer = Outer(mode: innermost, isStopped: stopped.load(ordering: .relaxed), stage: stage)
        innermost = mode
        stopped.store(false, ordering: .relaxed)
        count.add(1, ordering: .releasing)
        return outer
    }

    /// The innermost run ends; returns the mode of the one around it.
    func leave(to outer: Outer) -> LoopMode? {
        innermost = outer.mode
        stopped.store(outer.isStopped, ordering: .relaxed)
        count.subtract(1, ordering: .releasing)
        stage = outer.stage
        return outer.mode
    }

    // MARK: The loop's thread

    /// A run begins or ends: what was harvested before is old news.
    func countBoundary() { number += 1 }

    /// The innermost run is in a stage.
    @inline(__always)
    func reach(_ stage: Activity) { self.stage = stage }

    /// A pass begins.
    @inline(__always)
    func countPass() {
        // Only this thread writes it.
        passes.store(passes.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    /// Whether a run is inside another one; for posters on any thread a hint.
    @inline(__always)
    var isNested: Bool { count.load(ordering: .relaxed) > 1 }

    /// How many runs are active, as descriptions of callouts and events of the loop have it.
    @inline(__always)
    var nesting: UInt32 { UInt32(truncatingIfNeeded: count.load(ordering: .relaxed)) }

    /// Takes the order to stop the innermost run, if there is one.
    @inline(__always)
    func takeStop() -> Bool {
        guard stopped.load(ordering: .acquiring) else { return false }
        stopped.store(false, ordering: .relaxed)
        return true
    }

    // MARK: Deadlines

    /// Whether one run has a deadline; a run has none while its observers of `entry` and `exit` are called.
    @inline(__always)
    var isOutermost: Bool { deadlines.count == 1 }

    /// How many runs have a deadline.
    var deadlineCount: Int { deadlines.count }

    /// Notes when the innermost run ends for want of time.
    func pushDeadline(_ limit: Duration) -> RunDeadline {
        if !deadlines.isEmpty {
            // Those that have passed by now have had their wake-up.
            markOverdue()
        }
        let deadline = RunDeadline(limit: limit)
        deadlines.append(deadline)
        return deadline
    }

    /// Undoes `pushDeadline`.
    func popDeadline() { deadlines.removeLast() }

    /// The deadline of the innermost run, or that of a run around it that is earlier and has not ended a wait yet.
    @inline(__always)
    var earliestDeadline: Int64 {
        var earliest = deadlines.last?.time ?? .max
        for deadline in deadlines where !deadline.hasWoken {
            earliest = min(earliest, deadline.time)
        }
        return earliest
    }

    /// Marks the deadlines that have come, and says whether the innermost run is over or another one was marked now.
    ///
    /// CFRunLoop's helper timer wakes the loop once, whichever run it belongs to (run-loop item 63).
    @discardableResult
    func markOverdue() -> Bool {
        let now = MonotonicClock.nanoseconds
        var isAnyOver = deadlines.last.map { $0.time < now } ?? false
        for index in deadlines.indices where !deadlines[index].hasWoken && deadlines[index].time < now {
            deadlines[index].hasWoken = true
            isAnyOver = true
        }
        return isAnyOver
    }

    // MARK: Damage

    /// Counts a run that is none: `InvariantTests` proves by it that the check can see something.
    func damageCount() { count.add(1, ordering: .relaxed) }
}

/// When a run ends for want of time.
struct RunDeadline: Equatable {
    /// Nanoseconds on the monotonic clock: `Int64.max` for never, `Int64.min` for a run of one pass that does not wait.
    let time: Int64
    /// Whether it has interrupted a wait: it does that once, also for runs that are nested in its own.
    fileprivate(set) var hasWoken = false

    /// A run of one pass that does not wait.
    static let poll = RunDeadline(time: .min)

    /// CFRunLoop's `TIMER_INTERVAL_LIMIT` (CFRunLoop.c:151): longer means for ever.
    private static let longest = Duration.seconds(504_911_232)

    /// Makes the deadline of a run that begins now.
    init(limit: Duration) {
        if limit <= .zero {
            self = .poll
        } else if limit > Self.longest {
            time = .max
        } else {
            time = Instant.now.advanced(by: limit).nanoseconds
        }
    }

    private init(time: Int64) {
        self.time = time
        hasWoken = true
    }

    private typealias Instant = HostRunLoop.Instant

    /// Whether the time is over: strictly, as in CFRunLoop.
    var isOver: Bool {
        switch time {
        case .min: true
        case .max: false
        default: time < MonotonicClock.nanoseconds
        }
    }
}
