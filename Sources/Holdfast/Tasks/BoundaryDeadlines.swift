internal import CrashCapture
internal import LinuxSystem
internal import RunLoops
internal import Synchronization
internal import TaskBoundaries

/// Ends the bodies of fault boundaries that run past their deadlines.
///
/// On a thread of its own, because the late ones may keep every thread of the pool busy. Most bodies end in time, so a deadline is put into a
/// bucket and taken out of it again, and the thread sleeps until the first bucket that is left. It waits for nothing else: bodies are
/// cancelled by other threads (`TaskCanceller`), and what has to be tried again is put into a later bucket.
final class BoundaryDeadlines: Sendable {
    /// The deadline of one call.
    final class Limit: Sendable {
        fileprivate let boundary: TaskBoundaries.FaultBoundary
        fileprivate let deadline: Duration
        /// When it passes, in ticks.
        fileprivate let tick: Int64
        private let passed = Atomic<Bool>(false)
        /// How often it was tried to end a job that runs.
        ///
        /// Only for the thread of deadlines.
        fileprivate let attempts = Atomic<Int>(0)

        fileprivate init(_ boundary: TaskBoundaries.FaultBoundary, _ deadline: Duration, at tick: Int64) {
            self.boundary = boundary
            self.deadline = deadline
            self.tick = tick
        }

        /// Whether the body was cancelled for it.
        var hasPassed: Bool { passed.load(ordering: .acquiring) }

        fileprivate func pass() { passed.store(true, ordering: .releasing) }

        /// What the caller gets.
        func error(_ fault: FaultError?) -> FaultBoundary.DeadlineError {
            FaultBoundary.DeadlineError(boundary: boundary.label.name, deadline: deadline, fault: fault)
        }

        /// How long the body has to end after it was cancelled.
        fileprivate var grace: Duration { min(deadline, .seconds(1)) }
    }

    static let shared = BoundaryDeadlines()

    /// Nanoseconds.
    private static let tick: Int64 = 10_000_000
    /// A thread may be inside the allocator or the runtime, or hold a lock: then the attempt is repeated.
    private static let attempts = 50
    private static let pause = Duration.milliseconds(20)

    /// Limits by identity, of the bodies that are to be cancelled or, having been cancelled, to be ended.
    private typealias Bucket = [ObjectIdentifier: Limit]

    private struct State {
        var buckets: [Int64: Bucket] = [:]
        /// Until when the thread sleeps, in ticks.
        var wakeTick = Int64.max
        var hasThread = false
    }

    /// Protected by its lock.
    private let state = Mutex(State())
    private let wake = Semaphore()
    private let canceller = TaskCanceller()

    /// Begins to keep a deadline.
    ///
    /// - Parameters:
    ///   - boundary: The boundary; it begins now.
    ///   - deadline: How long its body may take.
    /// - Returns: What is to be removed when the body has ended.
    func add(_ boundary: TaskBoundaries.FaultBoundary, _ deadline: Duration) -> Limit {
        let limit = Limit(boundary, deadline, at: Self.now + Self.ticks(deadline))
        put(limit, at: limit.tick)
        return limit
    }

    /// Ends keeping a deadline.
    func remove(_ limit: Limit) {
        state.withLock { state in
            let key = ObjectIdentifier(limit)
            if state.buckets[limit.tick]?.removeValue(forKey: key) == nil { return }
            if state.buckets[limit.tick]?.isEmpty == true { state.buckets[limit.tick] = nil }
        }
    }

    private static var now: Int64 { MonotonicClock.nanoseconds / tick }

    /// Rounded up, and one more because the present tick has begun.
    private static func ticks(_ duration: Duration) -> Int64 {
        // No longer than a century, so that nothing overflows.
        let nanoseconds = min(max(0, duration.saturatingNanoseconds), 1 << 62)
        return (nanoseconds + tick - 1) / tick + 1
    }

    private func put(_ limit: Limit, at tick: Int64) {
        let (isFirst, needsThread) = state.withLock { state in
            state.buckets[tick, default: [:]][ObjectIdentifier(limit)] = limit
            defer { state.hasThread = true }
            return (tick < state.wakeTick, !state.hasThread)
        }
        if needsThread {
            do {
                try DetachedThread.start(name: "holdfast-tasks-limit") { [self] in run() }
            } catch {
                // Without a thread there is none for the work either; the next call tries again.
                state.withLock { $0.hasThread = false }
            }
        }
        if isFirst { wake.signal() }
    }

    // MARK: The thread

    private func run() -> Never {
        while true {
            let now = Self.now
            let (due, next) = state.withLock { state in
                let ticks = state.buckets.keys.filter { $0 <= now }
                let due = ticks.flatMap { state.buckets.removeValue(forKey: $0)?.values.map { $0 } ?? [] }
                state.wakeTick = state.buckets.keys.min() ?? .max
                return (due, state.wakeTick)
            }
            for limit in due { reach(limit) }
            // What is due by now is at once.
            let limit = Duration.nanoseconds(min(next - now, 1 << 30) * Self.tick)
            if due.isEmpty { DetachedThread.rest { wake.wait(atMost: limit) } }
        }
    }

    private func reach(_ limit: Limit) {
        guard !limit.boundary.isAnswered else { return }
        guard limit.hasPassed else {
            limit.pass()
            // First: what the program does when it is cancelled may take longer.
            put(limit, at: Self.now + Self.ticks(limit.grace))
            canceller.cancel(limit.boundary)
            return
        }
        let count = limit.attempts.add(1, ordering: .relaxed).newValue
        switch endRunningJob(of: limit) {
        case .ended: break
        case .again where count < Self.attempts: put(limit, at: Self.now + Self.ticks(Self.pause))
        case .again, .impossible: limit.boundary.giveUp(limit.error(nil))
        }
    }

    /// What came of an attempt to have a job abandoned where it is.
    private enum Attempt {
        /// The boundary has an answer by it, or otherwise.
        case ended
        /// A moment later it may succeed.
        case again
        /// It waits, or may not be abandoned.
        case impossible
    }

    /// Has a job that runs abandoned where it is, if that can be done now.
    private func endRunningJob(of limit: Limit) -> Attempt {
        let jobs = limit.boundary.runningJobs
        if jobs.isEmpty { return .impossible }
        for job in jobs {
            var callout = OverdueCallout(
                thread: job.thread,
                values: (job.value, job.value, job.value),
                deadline: UInt64(max(0, limit.deadline.saturatingNanoseconds))
            )
            let word = unsafe UnsafeRawPointer(job.word)
            switch unsafe callout.interrupt(words: (word, word, word), isLast: false) {
            case .done: return .ended
            case .impossible: return .impossible
            case .gone, .notNow, .silent: break
            }
        }
        return .again
    }
}
