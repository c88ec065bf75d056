internal import CrashCapture
internal import CrashReports
internal import LinuxSystem
package import RunLoops
internal import Synchronization
internal import SystemPackage

/// Carries out the stall policy: samples stalled threads while a stall lasts, and keeps the reports up to date.
///
/// It runs on its own thread, which sleeps while there is no stall and never blocks on others: `StallDesk` and `StallHerald` do the slow
/// work.
package final class StallReporter: @unchecked Sendable {
    /// A stall that the policy of its item allows so far.
    private struct PatientStall {
        var stall: Stall
        var patience: StallPatience
        /// When the busy period began, on the clock that pauses while the process is stopped.
        var begin: Int64
        /// When to look again.
        var due: Int64
    }

    private let capture: CrashCapture
    private let policy: StallPolicy
    private let capturesThreads: Bool
    private let abandonedItems: AbandonedItems
    private let items: StallPolicyTable
    private let herald: StallHerald
    private let desk: StallDesk
    private let inbox = StallInbox()
    private let found = Atomic<Int>(0)
    /// Protected by its lock.
    private let isStarted = Mutex(false)
    private let fork = ForkCount.current
    /// How regularly the main loop ticks.
    private let statistics: @Sendable () -> TickStatistics?
    // Used on the thread only.
    private var clock = RunningClock()
    /// When the clock was last told of the thread's work, in nanoseconds.
    private var noted: Int64 = 0
    private var ongoing: [UInt64: OngoingStall] = [:]
    /// Stalls that were announced and are not over.
    private var announced: Set<UInt64> = []
    private var patient: [UInt64: PatientStall] = [:]
    private var othersSampled: HostRunLoop.Instant?

    /// The longest piece of work on a busy machine, in nanoseconds, without a look at all threads.
    private static let longestWork: Int64 = 200_000_000
    /// The shortest pause between two looks at all threads, each of which sends every thread a signal.
    private static let othersPause = Duration.seconds(5)

    init(
        capture: CrashCapture,
        policy: StallPolicy,
        capturesThreads: Bool,
        abandonedItems: AbandonedItems,
        items: StallPolicyTable,
        herald: StallHerald,
        desk: StallDesk,
        statistics: @escaping @Sendable () -> TickStatistics?
    ) {
        self.capture = capture
        self.policy = policy
        self.capturesThreads = capturesThreads
        self.abandonedItems = abandonedItems
        self.items = items
        self.herald = herald
        self.desk = desk
        self.statistics = statistics
    }

    /// How many stalls there were so far, without those allowed by the policies of their items.
    package var count: Int { found.load(ordering: .relaxed) }

    /// Starts the threads unless they are running; they run until the process ends.
    func start() throws(Errno) {
        try isStarted.withLock { isStarted throws(Errno) in
            guard !isStarted else { return }
            try desk.start()
            try herald.start()
            try DetachedThread.start(name: "holdfast-sample") { self.run() }
            isStarted = true
        }
    }

    /// Takes a stall announced by the monitor.
    ///
    /// Callable from any thread.
    func take(_ stall: Stall) { inbox.add(stall) }

    /// Brings all reports up to date, and returns whether that was done in time.
    ///
    /// This includes stalls that have ended but whose end was not announced yet. Callable from any thread but the reporter's.
    package func settle(before end: HostRunLoop.Instant) -> Bool {
        // A forked child has none of the threads.
        guard ForkCount.current == fork else { return true }
        // A stall may have been told before the threads were there.
        guard (try? start()) != nil else { return inbox.isEmpty }
        return inbox.settle(before: end)
    }

    // MARK: The thread

    private func run() -> Never {
        while true {
            let (stalls, request) = DetachedThread.rest { inbox.next(before: nextDue, &clock) }
            noted = MonotonicClock.nanoseconds
            var new: [UInt64] = []
            for stall in stalls {
                switch stall.phase {
                case .lasting: if begin(stall) { new.append(stall.number) }
                case .over: end(stall)
                }
            }
            new += review()
            // By now the first report of each stall is being written.
            for number in new {
                sampleOthers(number)
                noteWork(ofAtMost: Self.longestWork + OtherThreads.patience.saturatingNanoseconds)
            }
            for number in ongoing.keys.sorted() { attend(to: number, mustSettle: request != nil) }
            if let request { desk.perform { [inbox] in inbox.isSettled(request) } }
            noteWork()
        }
    }

    /// Tells the clock what the thread did since the last time: if that took longer than it can, the process was stopped meanwhile.
    ///
    /// - Returns: The present time.
    @discardableResult private func noteWork(ofAtMost most: Int64 = longestWork) -> Int64 {
        let now = MonotonicClock.nanoseconds
        clock.slept(from: noted, until: noted + most, now: now)
        noted = now
        return now
    }

    private var nextDue: Int64 {
        let times = ongoing.values.map { min($0.nextSample, $0.nextWrite).nanoseconds } + patient.values.map(\.due)
        return times.min() ?? .max
    }

    // MARK: Begin and end

    /// Returns whether the stall has a report.
    private func begin(_ stall: Stall) -> Bool {
        let now = noteWork()
        let begin = clock.time(at: now) - stall.length.saturatingNanoseconds
        return consider(PatientStall(stall: stall, patience: StallPatience(begin: begin), begin: begin, due: now))
    }

    /// Looks again at stalls that the policies of items allowed so far; returns those that have a report now.
    private func review() -> [UInt64] {
        let now = MonotonicClock.nanoseconds
        return patient.keys.sorted().filter { number in
            guard let waiting = patient[number], waiting.due <= now else { return false }
            patient[number] = nil
            return waiting.stall.isLasting() && consider(waiting)
        }
    }

    /// Returns whether the stall has a report.
    private func consider(_ waiting: PatientStall) -> Bool {
        var waiting = waiting
        let now = noteWork()
        let running = clock.time(at: now)
        let callout = waiting.stall.callout()
        let itemPolicy = callout.flatMap { items.policy(ofItem: $0.item) }
        if let callout, let left = waiting.patience.left(callout.number, itemPolicy, at: running) {
            // Another callout with a smaller allowance, or none, may follow in the same pass.
            waiting.due = now + min(left, max(waiting.stall.rule.threshold.saturatingNanoseconds, 10_000_000))
            patient[waiting.stall.number] = waiting
            return false
        }
        var stall = waiting.stall
        stall.length = max(stall.length, .nanoseconds(running - waiting.begin))
        return announce(stall, itemPolicy)
    }

    private func announce(_ told: Stall, _ itemPolicy: StallPolicy.Item?) -> Bool {
        var stall = told
        stall.look = stall.lookNow()
        found.add(1, ordering: .relaxed)
        announced.insert(stall.number)
        // Discards a note left by an earlier stall.
        if let item = stall.callout()?.item { _ = abandonedItems.take(item) }
        defer { herald.tell(stall) }
        guard policy.writesReports, itemPolicy?.writesReports ?? true else { return false }
        let bytes = capture.spoolBytes()
        guard let contents = try? SpoolContents(bytes: bytes) else { return false }
        let now = HostRunLoop.Instant(nanoseconds: noteWork())
        let running = clock.time(at: now.nanoseconds)
        ongoing[stall.number] = OngoingStall(
            stall,
            threshold: max(stall.rule.threshold, itemPolicy?.threshold ?? .zero),
            process: contents,
            bytes: bytes,
            at: now,
            running: running
        )
        write(stall.number)
        return true
    }

    /// Looks at all threads for the second version of the report, because this takes time.
    private func sampleOthers(_ number: UInt64) {
        guard capturesThreads, let stall = ongoing[number]?.stall, stall.isLasting() else { return }
        let now = HostRunLoop.Instant.now
        if let othersSampled, othersSampled.duration(to: now) < Self.othersPause {
            ongoing[number]?.note("the other threads were not sampled: another stall had been found just before")
            return
        }
        othersSampled = now
        ongoing[number]?.sampleOthers(but: ThreadIdentity.id)
    }

    private func end(_ stall: Stall) {
        patient[stall.number] = nil
        guard announced.remove(stall.number) != nil else { return }
        herald.tell(stall)
        finish(stall)
    }

    /// Ends a stall whose end nobody announces, because it is no longer watched or the process is about to end.
    private func endUntold(_ number: UInt64) {
        guard var stall = ongoing[number]?.stall else { return }
        announced.remove(number)
        stall.phase = .over
        // If no end was noted, the stall ended just now.
        let end = stall.end()?.nanoseconds ?? MonotonicClock.nanoseconds
        let length = ongoing[number]?.length(at: end - clock.stoodStill(until: end)) ?? stall.length
        stall.length = max(stall.length, length)
        finish(stall)
    }

    private func finish(_ over: Stall) {
        guard var stall = ongoing.removeValue(forKey: over.number) else { return }
        if let item = stall.item, abandonedItems.take(item) { stall.isAbandoned = true }
        desk.write(stall, over: over, ticks: ticks)
    }

    // MARK: Meanwhile

    private func attend(to number: UInt64, mustSettle: Bool) {
        let now = HostRunLoop.Instant(nanoseconds: noteWork())
        guard var stall = ongoing[number] else { return }
        if stall.stall.isLasting() {
            if stall.nextSample <= now { stall.sample(at: now, running: clock.time(at: now.nanoseconds)) }
            ongoing[number] = stall
            if stall.nextWrite <= now || mustSettle { write(number) }
        } else if mustSettle || stall.isOverdue(at: now) {
            endUntold(number)
        } else {
            // Its end is about to be announced.
            stall.noteEnd(at: now)
            ongoing[number] = stall
        }
    }

    private var ticks: CrashReport.Stall.Ticks? { statistics().map { CrashReport.Stall.Ticks($0) } }

    private func write(_ number: UInt64) {
        guard let stall = ongoing[number] else { return }
        desk.write(stall, over: nil, ticks: ticks)
        ongoing[number]?.noteWrite()
    }
}
