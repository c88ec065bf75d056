internal import CrashCapture
internal import CrashReports
internal import LinuxSystem
internal import Logging
internal import RunLoops
internal import Supervision
internal import Symbolication
internal import Synchronization
internal import SystemPackage

/// Does what the policy says about stalls: looks at their threads while they last, and has their reports kept up to date.
///
/// On a thread of its own, which sleeps while there is none.
final class StallReporter: @unchecked Sendable {
    private let capture: CrashCapture
    private let policy: StallPolicy
    private let logger: Logger
    private let capturesThreads: Bool
    private let abandonedItems: AbandonedItems
    private let desk: StallDesk
    /// Calls `StallPolicy.warn`, which may take its time.
    private let warner = SerialThread(name: "holdfast-warn")
    private let found = Atomic<Int>(0)
    /// How regularly the main loop ticks.
    private let statistics: @Sendable () -> TickMonitor.Statistics?
    private let monitor = Monitor()
    // Protected by `monitor`.
    private var queue: [Stall] = []
    private var mustSettle = false
    private var itemPolicies: [UInt64: StallPolicy.Item] = [:]
    // Of the thread alone.
    private var ongoing: [UInt64: OngoingStall] = [:]
    /// Stalls that were told of and are not over.
    private var announced: Set<UInt64> = []
    private var othersSampled: HostRunLoop.Instant?
    /// Stalls of items that may take longer than the rest.
    private var patient: [UInt64: PatientStall] = [:]
    private let settled = Semaphore()

    /// A stall that is none yet by its item's policy.
    private struct PatientStall {
        var stall: Stall
        var due: HostRunLoop.Instant
    }

    /// Items that can have a policy of their own.
    static let itemCapacity = 4096

    init(
        capture: CrashCapture,
        store: ReportStore,
        policy: StallPolicy,
        logger: Logger,
        capturesThreads: Bool,
        abandonedItems: AbandonedItems,
        statistics: @escaping @Sendable () -> TickMonitor.Statistics?
    ) {
        self.capture = capture
        self.policy = policy
        self.logger = logger
        self.capturesThreads = capturesThreads
        self.abandonedItems = abandonedItems
        self.statistics = statistics
        desk = StallDesk(store: store, capture: capture, logger: logger)
    }

    /// How many stalls there were so far, without those that the policies of their items allow.
    var count: Int { found.load(ordering: .relaxed) }

    /// Starts the thread; it runs until the process ends.
    func start() throws(Errno) {
        try desk.start()
        if policy.warn != nil { try warner.start() }
        try DetachedThread.start(name: "holdfast-sample") { self.run() }
    }

    /// Takes what the monitor tells.
    ///
    /// On any thread.
    func take(_ stall: Stall) {
        monitor.lock()
        queue.append(stall)
        monitor.signal()
        monitor.unlock()
    }

    /// Gives an item a policy of its own; nil gives it the host's again.
    ///
    /// On any thread. Returns false if there is no room for it.
    func setPolicy(_ policy: StallPolicy.Item?, forItem item: UInt64) -> Bool {
        monitor.lock()
        defer { monitor.unlock() }
        guard policy == nil || itemPolicies[item] != nil || itemPolicies.count < Self.itemCapacity else { return false }
        itemPolicies[item] = policy
        return true
    }

    /// Brings the reports up to date before the process ends: of stalls that are over and have not been told to be, too.
    ///
    /// On any thread but the reporter's.
    func settle(limit: Duration) {
        settled.drain()
        monitor.lock()
        mustSettle = true
        monitor.signal()
        monitor.unlock()
        settled.wait(atMost: limit)
    }

    // MARK: The thread

    private func run() -> Never {
        while true {
            let (stalls, mustSettle) = next()
            for stall in stalls {
                switch stall.phase {
                case .lasting: begin(stall)
                case .over: end(stall)
                }
            }
            let now = HostRunLoop.Instant.now
            for (number, stall) in patient where stall.due <= now {
                patient[number] = nil
                // One that has just ended took no longer than it may.
                if stall.stall.isLasting() { announce(stall.stall) }
            }
            for number in ongoing.keys.sorted() {
                if mustSettle { settle(number) } else { attend(to: number) }
            }
            if mustSettle { desk.perform { [settled] in settled.signal() } }
        }
    }

    /// Waits until there is something to do; returns what is new.
    private func next() -> (stalls: [Stall], mustSettle: Bool) {
        let times = ongoing.values.map { min($0.nextSample, $0.nextWrite) } + patient.values.map(\.due)
        let due = times.min()?.nanoseconds ?? .max
        monitor.lock()
        defer { monitor.unlock() }
        while queue.isEmpty, !mustSettle, MonotonicClock.nanoseconds < due { _ = monitor.wait(before: due) }
        defer {
            queue = []
            mustSettle = false
        }
        return (queue, mustSettle)
    }

    private func itemPolicy(of stall: Stall) -> StallPolicy.Item? {
        guard let item = stall.look?.callout?.item else { return nil }
        monitor.lock()
        defer { monitor.unlock() }
        return itemPolicies[item]
    }

    // MARK: Begin and end

    private func begin(_ stall: Stall) {
        let now = HostRunLoop.Instant.now
        let left = (itemPolicy(of: stall)?.threshold ?? .zero) - max(stall.length, stall.begin.duration(to: now))
        guard left > .zero else { return announce(stall) }
        patient[stall.number] = PatientStall(stall: stall, due: now.advanced(by: left))
    }

    private func announce(_ stall: Stall) {
        found.add(1, ordering: .relaxed)
        announced.insert(stall.number)
        // Of an earlier stall.
        if let item = stall.look?.callout?.item { _ = abandonedItems.take(item) }
        warn(stall)
        logger.warning("the loop stalls", metadata: stall.metadata)
        guard policy.writesReports, itemPolicy(of: stall)?.writesReports ?? true else { return }
        let bytes = capture.spoolBytes()
        guard let contents = try? SpoolContents(bytes: bytes) else { return }
        ongoing[stall.number] = OngoingStall(stall, process: contents, bytes: bytes)
        write(stall.number)
        sampleOthers(stall.number)
    }

    /// How long after a look at all threads the next one follows at the earliest: each is asked by a signal.
    private static let othersPause = Duration.seconds(5)

    /// After the first report, and told by the second: it takes time.
    private func sampleOthers(_ number: UInt64) {
        guard capturesThreads else { return }
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
        warn(stall)
        logger.notice("the loop goes on", metadata: stall.metadata)
        guard ongoing[stall.number] != nil else { return }
        write(stall.number, over: stall)
        ongoing[stall.number] = nil
    }

    private func settle(_ number: UInt64) {
        guard let stall = ongoing[number]?.stall, !stall.isLasting() else { return write(number) }
        var over = stall
        over.phase = .over
        // One whose end nobody noted has just ended.
        over.length = max(stall.length, stall.begin.duration(to: stall.end() ?? .now))
        write(number, over: over)
        ongoing[number] = nil
    }

    private func warn(_ stall: Stall) {
        guard let warn = policy.warn else { return }
        warner.perform { warn(stall) }
    }

    // MARK: Meanwhile

    private func attend(to number: UInt64) {
        let now = HostRunLoop.Instant.now
        if let due = ongoing[number]?.nextSample, due <= now { ongoing[number]?.sample() }
        if let due = ongoing[number]?.nextWrite, due <= now { write(number) }
    }

    private func write(_ number: UInt64, over: Stall? = nil) {
        guard var stall = ongoing[number] else { return }
        if over != nil, let item = stall.item, abandonedItems.take(item) { stall.isAbandoned = true }
        desk.write(stall, over: over, ticks: statistics().map { CrashReport.Stall.Ticks($0) })
        ongoing[number]?.noteWrite()
    }
}

extension Stall {
    /// What a log says of it.
    fileprivate var metadata: Logger.Metadata {
        var details: Logger.Metadata = [
            "stall": "\(number)", "length": "\(CrashReport.Stall.text(seconds: length / .seconds(1)))",
        ]
        if case .ping(let label) = subject { details["pinged"] = "\(label)" }
        if let activity = look?.activity { details["thread"] = "\(activity)" }
        if let callout = look?.callout { details["item"] = "\(callout.label)" }
        return details
    }
}
