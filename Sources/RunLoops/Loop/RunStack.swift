import LinuxSystem
import Synchronization

/// The runs of a loop, one inside the other: the mode of each, its end, and whether it was told to stop.
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
    /// Counts the beginnings and ends of runs; it shows whether harvested events belong to this run.
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
    /// Sequentially consistent, like `stop`: a thread that stops the run wakes the loop afterwards, and a pass looks here after it has
    /// begun to accept wake-ups.
    var isStopped: Bool { stopped.load(ordering: .sequentiallyConsistent) }

    /// Whether the thread is about to end, so that no run goes on after its present pass.
    @inline(__always)
    var areAllEnding: Bool { allEnd.load(ordering: .acquiring) }

    /// How long requests may wait for their answers then: nanoseconds on the monotonic clock.
    var endOfRequests: Int64 { requestEnd.load(ordering: .relaxed) }

    /// Ends all runs, now and later; only the first call says how long requests may wait.
    func endAll(requestsBefore end: Int64) {
        _ = requestEnd.compareExchange(expected: .max, desired: end, ordering: .relaxed)
        allEnd.store(true, ordering: .sequentiallyConsistent)
    }

    // MARK: With the loop's lock held

    /// The mode of the innermost run, or `nil` while the loop does not run.
    var mode: LoopMode? { innermost }

    /// Tells the innermost run to stop; returns whether there is one.
    func stop() -> Bool {
        guard innermost != nil else { return false }
        stopped.store(true, ordering: .sequentiallyConsistent)
        return true
    }

    /// Notes that a run begins in a mode.
    func enter(_ mode: LoopMode) -> Outer {
        let outer = Outer(mode: innermost, isStopped: stopped.load(ordering: .relaxed), stage: stage)
        innermost = mode
        stopped.store(false, ordering: .relaxed)
        count.add(1, ordering: .releasing)
        return outer
    }

    /// Notes that the innermost run ends; returns the mode of the run around it.
    func leave(to outer: Outer) -> LoopMode? {
        innermost = outer.mode
        stopped.store(outer.isStopped, ordering: .relaxed)
        count.subtract(1, ordering: .releasing)
        stage = outer.stage
        return outer.mode
    }

    // MARK: The loop's thread

    /// Counts the beginning or end of a run: events that were harvested earlier may be outdated.
    func countBoundary() { number += 1 }

    /// Notes the stage of the innermost run.
    @inline(__always)
    func reach(_ stage: Activity) { self.stage = stage }

    /// Counts a pass that begins.
    @inline(__always)
    func countPass() {
        // Only this thread writes it.
        passes.store(passes.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    /// Whether a run is inside another one.
    ///
    /// On other threads only a hint.
    @inline(__always)
    var isNested: Bool { count.load(ordering: .relaxed) > 1 }

    /// How many runs are active, in the form of callout descriptions and loop events.
    @inline(__always)
    var nesting: UInt32 { UInt32(truncatingIfNeeded: count.load(ordering: .relaxed)) }

    /// Takes the request to stop the innermost run; returns whether there was one.
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

    /// Notes when the time of the innermost run is over.
    func pushDeadline(_ limit: Duration) -> RunDeadline {
        if !deadlines.isEmpty {
            // Deadlines that have already passed have had their wake-up.
            markOverdue()
        }
        let deadline = RunDeadline(limit: limit)
        deadlines.append(deadline)
        return deadline
    }

    /// Undoes `pushDeadline`.
    func popDeadline() { deadlines.removeLast() }

    /// The deadline of the innermost run, or an earlier one of a run around it that has not ended a wait yet.
    @inline(__always)
    var earliestDeadline: Int64 {
        var earliest = deadlines.last?.time ?? .max
        for deadline in deadlines where !deadline.hasWoken {
            earliest = min(earliest, deadline.time)
        }
        return earliest
    }

    /// Marks the deadlines that have come; returns whether the innermost run is over or another one was marked now.
    ///
    /// CFRunLoop's helper timer wakes the loop once, whichever run it belongs to.
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

    /// Counts a run that does not exist; `InvariantTests` uses it to prove that the check detects this.
    func damageCount() { count.add(1, ordering: .relaxed) }
}

/// When the time of a run is over.
struct RunDeadline: Equatable {
    /// Nanoseconds on the monotonic clock: `Int64.max` for never, `Int64.min` for a run of one pass that does not wait.
    let time: Int64
    /// Whether it has interrupted a wait; it does so once, even for runs that are nested in its own.
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
