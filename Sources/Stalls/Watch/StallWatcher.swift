internal import CrashCapture
internal import LinuxSystem
internal import RunLoops
internal import Synchronization
internal import SystemPackage

/// The one thread that looks at everything that is watched.
///
/// It sleeps indefinitely while every loop sleeps and no ping is due; the first loop to wake then wakes the watcher (`WatcherBell`). A loop
/// that wakes repeatedly pays for this once: the watcher looks at intervals until a whole one has passed without news.
final class StallWatcher: Sendable {
    static let shared = StallWatcher()

    private struct State {
        var entries: [any WatcherEntry] = []
        var isStarted = false
    }

    /// When to look again.
    private struct Plan {
        var time = Int64.max
        /// Whether nothing is busy, so that a loop that wakes has to ring.
        var isQuiet = true
        /// The change count before the looks.
        var changes: UInt32
    }

    /// Posts pings.
    let poster = SerialThread(name: "holdfast-ping")
    private let notifier = SerialThread(name: "holdfast-notify")
    private let fork = ForkCount.current
    /// Protected by its lock.
    private let state = Mutex(State())
    private let stalls = Atomic<UInt64>(0)
    /// Whether somebody has wanted the threads.
    private let hasBegun = Atomic<Bool>(false)
    /// Grows when the watched entries change; the watcher sleeps on it while something is busy (futex(2)).
    private let changes = Atomic<UInt32>(0)
    /// Whether nothing is looked at for the time being.
    private let isSuspended = Atomic<Bool>(false)

    /// Looks at nothing, and counts no time, until the opposite is said: what waits then waits on purpose.
    func suspend(_ wanted: Bool) {
        isSuspended.store(wanted, ordering: .releasing)
        announceChange()
    }

    /// Starts the threads unless they are running; they run until the process ends.
    ///
    /// - Throws: The error of pthread_create(3); `notSupported` in a forked child, which has none of the threads.
    func start() throws(Errno) {
        guard ForkCount.current == fork else { throw .notSupported }
        hasBegun.store(true, ordering: .releasing)
        try notifier.start()
        try state.withLock { state throws(Errno) in
            guard !state.isStarted else { return }
            try DetachedThread.start(name: "holdfast-stalls") { self.run() }
            state.isStarted = true
        }
    }

    /// Adds subjects, which are looked at as soon as the threads run.
    ///
    /// - Parameters:
    ///   - entries: The subjects.
    ///   - isLater: Whether somebody starts the threads later; once that was tried, it is tried again here if it failed.
    /// - Throws: As `start()`.
    func add(_ entries: [any WatcherEntry], isLater: Bool = false) throws(Errno) {
        guard ForkCount.current == fork else { throw .notSupported }
        if !isLater || hasBegun.load(ordering: .acquiring) { try start() }
        state.withLock { $0.entries += entries }
        announceChange()
    }

    /// Stops watching an entry: its handler is not called for anything found from now on.
    func remove(_ entry: any WatcherEntry) {
        guard ForkCount.current == fork else { return }
        entry.remove()
        // Released outside of the lock.
        let removed = state.withLock { state in
            let removed = state.entries.filter { $0 === entry }
            state.entries.removeAll { $0 === entry }
            return removed
        }
        if !removed.isEmpty { announceChange() }
    }

    /// Ends either sleep of the watcher, because the next due time may have changed.
    func announceChange() {
        changes.add(1, ordering: .releasing)
        Futex.wakeOne(waitingOn: changes)
        HostRunLoop.Progress.WatcherBell.ring()
    }

    // MARK: The thread

    private func run() -> Never {
        var clock = RunningClock()
        while true {
            let woke = MonotonicClock.nanoseconds
            let seen = changes.load(ordering: .acquiring)
            if isSuspended.load(ordering: .acquiring) {
                DetachedThread.rest { Futex.wait(on: changes, while: seen) }
                clock.slept(from: woke, until: woke, now: MonotonicClock.nanoseconds)
                continue
            }
            let plan = lookAround(clock)
            let begin = MonotonicClock.nanoseconds
            // The process may have been stopped while this thread was awake.
            clock.slept(from: woke, until: woke, now: begin)
            if plan.isQuiet {
                // This sleep has no planned length and nothing is busy, so the clock does not need it.
                DetachedThread.rest {
                    HostRunLoop.Progress.WatcherBell.sleep(before: plan.time) { hasNews(since: plan.changes) }
                }
                continue
            }
            let planned = max(plan.time, begin)
            var now = begin
            while now < planned, changes.load(ordering: .acquiring) == plan.changes {
                DetachedThread.rest { Futex.wait(on: changes, while: plan.changes, before: planned) }
                now = MonotonicClock.nanoseconds
            }
            clock.slept(from: begin, until: planned, now: now)
        }
    }

    /// Looks at everything that is due.
    private func lookAround(_ clock: RunningClock) -> Plan {
        var plan = Plan(changes: changes.load(ordering: .acquiring))
        let entries = state.withLock { $0.entries }
        let now = MonotonicClock.nanoseconds
        for entry in entries {
            guard !entry.isGone else {
                remove(entry)
                continue
            }
            var hasNews = true
            if now >= entry.due || entry.wasBusy == false {
                hasNews = entry.look(at: now, clock) {
                    stalls.wrappingAdd(1, ordering: .relaxed).newValue
                } perform: {
                    notifier.perform($0)
                }
            }
            let isUnderWay = entry.act(at: now)
            if hasNews || isUnderWay || entry.wasBusy == true { plan.isQuiet = false }
            plan.time = min(plan.time, entry.ownDue)
        }
        // This includes entries that are not busy, because loops do not ring while the watcher sleeps until a set time.
        if !plan.isQuiet { plan.time = entries.reduce(plan.time) { min($0, max($1.due, now)) } }
        return plan
    }

    /// Whether anything has changed since the last look.
    private func hasNews(since changes: UInt32) -> Bool {
        guard self.changes.load(ordering: .sequentiallyConsistent) == changes else { return true }
        return state.withLock { $0.entries }.contains { $0.hasNews }
    }
}
