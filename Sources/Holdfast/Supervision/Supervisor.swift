package import CrashCapture
internal import LinuxSystem
package import RunLoops
internal import Synchronization
package import SystemPackage

/// Stands between capture and the main loop: gives verdicts, and turns them into messages on a port source.
package final class Supervisor: Sendable {
    struct State: ~Copyable {
        var ledger: BudgetLedger
        /// Nil when quarantine is off.
        var quarantine: QuarantineLedger?
        var messages = MessageQueue()
        /// What the last verdict said about its item.
        var lastOutcome = QuarantineLedger.Outcome.tolerated
    }

    /// Protected by its lock.
    ///
    /// The crash thread takes it for a verdict, while a thread is parked that does not hold it: a fault under the lock
    /// is one of the loop's own code, which has no recovery point, and ends by the deadline. Nothing is allocated, freed or
    /// waited for under it, or a third thread that waits for the heap would keep the crash thread waiting.
    let state: Mutex<State>
    let rule: VerdictRule
    /// The policies of items: those that have none are judged by the rule's.
    package let policies: RecoveryPolicyTable
    private let budget: FaultBudget
    /// When an item is taken out of its loop; nil for never.
    private let quarantine: QuarantinePolicy?
    private var hasQuarantine: Bool { quarantine != nil }
    private let start = HostRunLoop.Instant.now
    private let event: EventDescriptor
    private let resumed = Atomic<Int>(0)
    private let stopping = Atomic<Bool>(false)
    private let ending = Atomic<Bool>(false)
    private let served = Atomic<Bool>(false)
    private let portIdentifier = Atomic<UInt64>(0)
    /// Protected by its lock.
    private let port = Mutex<HostRunLoop.PortSource?>(nil)

    /// Makes a supervisor.
    ///
    /// - Parameters:
    ///   - rule: What verdicts follow from.
    ///   - budget: How many faults may be resumed.
    ///   - quarantine: When an item is taken out of its loop; nil for never.
    ///   - policies: The policies that items have of their own.
    /// - Throws: The error of eventfd(2).
    package init(
        rule: VerdictRule,
        budget: FaultBudget,
        quarantine: QuarantinePolicy? = nil,
        policies: RecoveryPolicyTable = RecoveryPolicyTable()
    ) throws(Errno) {
        self.rule = rule
        self.policies = policies
        self.budget = budget
        self.quarantine = quarantine
        state = Mutex(Self.initialState(budget, quarantine))
        event = try EventDescriptor()
    }

    private static func initialState(
        _ budget: FaultBudget,
        _ quarantine: QuarantinePolicy?,
        items: Int = BudgetLedger.itemCapacity,
        quarantined: Int = QuarantineLedger.capacity
    ) -> State {
        State(
            ledger: BudgetLedger(budget, itemCapacity: items),
            quarantine: quarantine.map { QuarantineLedger($0, budget: budget, capacity: quarantined) }
        )
    }

    /// Takes every way that a verdict may take.
    ///
    /// On the crash thread, before the first verdict: -Onone builds look types up at first use, which allocates. What spends
    /// something has a state of its own.
    package func warmUp() {
        _ = decide(FaultSummary(signal: 0, code: 1, hasRecoveryPoint: false))
        _ = mayAbandon(Self.madeUpOverdue)
        _ = decideBeforeWalk(Self.madeUpFault)
        _ = rule.policy.objection?(Self.madeUpFault)
        var rule = rule
        rule.policy = .allMemoryFaults
        rule.obstacle = nil
        // Small, so that it is soon full.
        let items = 4
        let state = Mutex(
            Self.initialState(
                FaultBudget(perProcess: .max, perWindow: .max, perItem: quarantine == nil ? 1 : 2),
                quarantine.map { _ in .default },
                items: items,
                quarantined: items
            )
        )
        for number in 0..<4 * UInt64(items) {
            let fault = FaultSummary(signal: 4, code: 1, item: 1 + number / 2)
            let context = Context(
                fault: fault,
                rule: rule,
                policy: nil,
                time: .seconds(Int64(number)),
                hasQuarantine: hasQuarantine
            )
            _ = state.withLock { Self.decide(context, &$0) }
            state.withLock { $0.messages.append(CrashMessage(fault, thread: 0, event: .resumed)) }
        }
    }

    static let madeUpFault = FaultSummary(number: 0, signal: 4, code: 1)
    static let madeUpOverdue = FaultSummary(number: 0, signal: 16, code: 1, isOverdue: true)

    /// The time since the supervisor was made.
    var now: Duration { start.duration(to: .now) }

    /// The identity of the port source for crash messages, 0 until there is one.
    package var portItem: UInt64 { portIdentifier.load(ordering: .acquiring) }

    /// How many faults were resumed.
    package var resumedFaults: Int { resumed.load(ordering: .acquiring) }

    /// Whether the run of the host is over, so that a fault ends the process as its signal says instead of restarting it.
    ///
    /// Any thread may set it. It holds for the verdicts that are given from then on.
    package var isStopping: Bool {
        get { stopping.load(ordering: .acquiring) }
        set { stopping.store(newValue, ordering: .releasing) }
    }

    /// Whether the process was told to end and goes on for a while: what would restart it ends it, and the rest is resumed as ever.
    ///
    /// Any thread may set it. It holds for the verdicts that are given from then on.
    package var isEnding: Bool {
        get { ending.load(ordering: .acquiring) }
        set { ending.store(newValue, ordering: .releasing) }
    }

    /// Whether somebody serves the main loop, so that it can drain; a run of the loop that nobody announced counts, too.
    ///
    /// Any thread may set it: true while the host's run lasts, also between two runs of the loop.
    package var isServed: Bool {
        get { served.load(ordering: .acquiring) || (portItem != 0 && HostRunLoop.main.nesting > 0) }
        set { served.store(newValue, ordering: .releasing) }
    }

    // MARK: On the crash thread

    /// Gives the verdict on a fault.
    ///
    /// On the crash thread: allocates nothing, and takes the locks of the supervisor and of the policies, one after the other.
    package func decide(_ fault: FaultSummary) -> Decision {
        // Without the lock: a process that was told to end must end, even while a thread that holds it was hit.
        if let end = rule.end(of: fault, isStopping: isStopping) { return end }
        let context = context(of: fault)
        var decision = state.withLock { Self.decide(context, &$0) }
        if isEnding, decision.verdict == .restart {
            decision = Decision(.terminate, because: "the process was told to end: it is not restarted")
        }
        // As in an async main: a thread that waits for the main loop would wait for nobody.
        if decision.drains, !isServed { decision.drains = false }
        if case .resume = decision.verdict { resumed.add(1, ordering: .acquiringAndReleasing) }
        return decision
    }

    /// Whether the verdict on a callout that takes too long would be to abandon it; nothing is spent.
    ///
    /// On the crash thread: allocates nothing, and takes the locks of the supervisor and of the policies, one after the other.
    package func mayAbandon(_ fault: FaultSummary) -> Bool {
        if rule.end(of: fault, isStopping: isStopping) != nil { return false }
        let context = context(of: fault)
        let decision = state.withLock { Self.judge(context, $0).decision }
        if case .resume = decision.verdict { return true }
        return false
    }

    /// Gives the verdict on a fault of the main thread before its stack is walked, if it is to restart the process whatever that shows.
    ///
    /// On the crash thread, in place of `decide`: allocates nothing, and takes the locks of the supervisor and of the policies, one after the
    /// other.
    package func decideBeforeWalk(_ fault: FaultSummary) -> Decision? {
        // First without the locks, as there.
        guard !isEnding, rule.mayDecideBeforeWalk(fault, isStopping: isStopping) else { return nil }
        let context = context(of: fault)
        return state.withLock { rule.decideBeforeWalk(fault, in: Self.circumstances(of: context, $0).circumstances) }
    }

    /// A fault, and what its verdict depends on beside the state: found before the lock is taken.
    private struct Context {
        let fault: FaultSummary
        let rule: VerdictRule
        let policy: RecoveryPolicy?
        let time: Duration
        let hasQuarantine: Bool
    }

    private func context(of fault: FaultSummary) -> Context {
        // Without the host's own ports nobody hears of a quarantine, and nobody can end the process but by SIGKILL.
        let mayQuarantine = hasQuarantine && !HostRunLoop.isHostsOwn(item: fault.item)
        return Context(
            fault: fault,
            rule: rule,
            policy: policies.policy(ofItem: fault.item),
            time: now,
            hasQuarantine: mayQuarantine
        )
    }

    /// The decision, and whether the item may be taken out of its loop.
    private static func judge(
        _ context: borrowing Context,
        _ state: borrowing State
    ) -> (decision: Decision, mayQuarantine: Bool) {
        let (circumstances, mayQuarantine) = circumstances(of: context, state)
        return (context.rule.decide(context.fault, in: circumstances), mayQuarantine)
    }

    /// What the rule needs to know beside the fault, and whether the item may be taken out of its loop.
    private static func circumstances(
        of context: borrowing Context,
        _ state: borrowing State
    ) -> (circumstances: VerdictRule.Circumstances, mayQuarantine: Bool) {
        let fault = context.fault
        var circumstances = VerdictRule.Circumstances(policy: context.policy)
        let allowsQuarantine = circumstances.policy?.allowsQuarantine ?? context.rule.policy.allowsQuarantine
        let mayQuarantine = context.hasQuarantine && fault.item != 0 && !fault.isOfSharedPort && allowsQuarantine
        // Where the item may be taken out, its own budget is the quarantine's limit.
        let hasOwnBudget = !mayQuarantine && hasBudget(itemOf: fault)
        let isStray = Self.isStray(fault, mayQuarantine, state)
        circumstances.spent = state.ledger.objection(
            to: hasOwnBudget ? fault.item : 0,
            at: context.time,
            countsInWindow: !isStray
        )
        if mayQuarantine, !fault.isInJob, let reason = state.quarantine?.objection(to: fault.item, at: context.time) {
            circumstances.spent = reason
        }
        return (circumstances, mayQuarantine)
    }

    /// Whether it is a body of a label in quarantine: it had begun before, as many others may have.
    ///
    /// They end by themselves, so they do not count in the process's window.
    private static func isStray(_ fault: FaultSummary, _ mayQuarantine: Bool, _ state: borrowing State) -> Bool {
        mayQuarantine && fault.isInJob && state.quarantine?.quarantine(of: fault.item) != nil
    }

    /// Whether faults are counted for the item, and not only for the process.
    ///
    /// Of an item of the host's own, what faults is one of many handlers, which the host counts by themselves. A port that many peers
    /// share would be taken from all of them by what one of them sends, and so would a label of fault boundaries: it may be quarantined,
    /// but the process is not restarted for it.
    private static func hasBudget(itemOf fault: FaultSummary) -> Bool {
        !HostRunLoop.isHostsOwn(item: fault.item) && !fault.isOfSharedPort && !fault.isInJob
    }

    private static func decide(_ context: borrowing Context, _ state: inout State) -> Decision {
        state.lastOutcome = .tolerated
        var (decision, mayQuarantine) = judge(context, state)
        let (fault, now) = (context.fault, context.time)
        guard case .resume = decision.verdict else { return decision }
        let isStray = Self.isStray(fault, mayQuarantine, state)
        state.ledger.spend(on: hasBudget(itemOf: fault) ? fault.item : 0, at: now, countsInWindow: !isStray)
        if mayQuarantine, let outcome = state.quarantine?.fault(of: fault.item, isLabel: fault.isInJob, at: now) {
            state.lastOutcome = outcome
            if case .quarantined = outcome {
                decision.quarantines = true
                decision.reason =
                    fault.isInJob
                    ? "only application frames lie above the recovery point; the label faults too often"
                    : "only application frames lie above the recovery point; the item faults too often"
            }
        }
        return decision
    }

    /// Posts the message of the fault that the last verdict resumed: `.resumed`, or `.quarantined`.
    ///
    /// On the crash thread, after the verdict.
    ///
    /// - Parameters:
    ///   - fault: The fault.
    ///   - thread: The thread that faulted, as gettid(2) has it; 0 if it is not known.
    package func post(resumed fault: FaultSummary, thread: CInt = 0) {
        let event: CrashMessage.Event =
            switch state.withLock({ $0.lastOutcome }) {
            case .tolerated: .resumed
            case .quarantined(let coolDown): .quarantined(coolDown: coolDown)
            }
        post(CrashMessage(fault, thread: thread, event: event))
    }

    /// Posts that the process restarts because of a fault of another thread than the main one, and drains until then.
    ///
    /// On the crash thread, after a verdict with `drains`; or on any other that the host drains from.
    ///
    /// - Parameters:
    ///   - fault: The fault.
    ///   - thread: The thread that faulted, as gettid(2) has it; 0 if it is not known.
    ///   - deadline: When it restarts at the latest.
    package func post(draining fault: FaultSummary, thread: CInt = 0, until deadline: HostRunLoop.Instant) {
        post(CrashMessage(fault, thread: thread, event: .draining(until: deadline)))
    }

    /// Posts a message.
    ///
    /// On any thread. Where more wait than there is room for, those of resumed faults are merged (`CrashMessage.merged`).
    package func post(_ message: CrashMessage) {
        state.withLock { $0.messages.append(message) }
        event.notify()
    }

    // MARK: On the main loop

    /// Puts the port source for crash messages on a loop, in its common modes.
    ///
    /// - Parameters:
    ///   - loop: The main loop.
    ///   - receive: Called on the loop's thread for each message.
    /// - Returns: The port source, which may be added to other modes, too.
    /// - Throws: `RunLoopError`.
    @discardableResult
    package func attach(
        to loop: HostRunLoop,
        receive: @escaping @Sendable (CrashMessage) -> Void
    ) throws(RunLoopError) -> HostRunLoop.PortSource {
        let port = HostRunLoop.PortSource(ofHost: "crash messages", descriptor: event.rawValue) { [self] _, _ in
            event.clear()
            guard let message = takeMessage() else { return }
            // One a callout, and the next is asked for first: what `receive` does may fault.
            event.notify()
            receive(message)
        }
        portIdentifier.store(port.identifier, ordering: .releasing)
        self.port.withLock { $0 = port }
        try loop.add(port, to: .common)
        return port
    }

    /// Undoes `attach`, and lets go of the port source, which holds the supervisor.
    package func detach() {
        let source = port.withLock { port in
            defer { port = nil }
            return port
        }
        source?.invalidate()
    }

    /// A function of its own: one that uses a `Mutex` and then calls the program's code would be suspected of holding it.
    @inline(never)
    private func takeMessage() -> CrashMessage? {
        state.withLock { $0.messages.takeFirst() }
    }
}

extension CrashMessage {
    fileprivate init(_ fault: FaultSummary, thread: CInt, event: Event) {
        self.init(number: Int(fault.number), signal: fault.signal, item: fault.item, thread: thread, event: event)
        isInBoundary = fault.isInJob
    }
}
