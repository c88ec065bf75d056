public import CrashCapture
internal import LinuxSystem
public import RunLoops
internal import Synchronization
public import SystemPackage

/// Stands between capture and the main loop: gives verdicts, and turns resumed faults into messages on a port source.
public final class Supervisor: Sendable {
    private struct State {
        var ledger: BudgetLedger
        var messages: [CrashMessage] = []
    }

    /// Protected by its lock.
    ///
    /// The crash thread takes it for a verdict, while a thread is parked that does not hold it: a fault under the lock
    /// is one of the loop's own code, which has no recovery point, and ends by the deadline.
    private let state: Mutex<State>
    private let rule: VerdictRule
    private let start = HostRunLoop.Instant.now
    private let event: EventDescriptor
    private let resumed = Atomic<Int>(0)
    private let portIdentifier = Atomic<UInt64>(0)

    /// Makes a supervisor.
    ///
    /// - Throws: The error of eventfd(2).
    public init(rule: VerdictRule, budget: FaultBudget) throws(Errno) {
        self.rule = rule
        state = Mutex(State(ledger: BudgetLedger(budget)))
        event = try EventDescriptor()
        // -Onone builds look types up at first use, which allocates: not while somebody is parked. Denied, so nothing is spent.
        _ = decide(FaultSummary(signal: 0, code: 1, hasRecoveryPoint: false))
    }

    /// The identity of the port source for crash messages, 0 until there is one.
    public var portItem: UInt64 { portIdentifier.load(ordering: .acquiring) }

    /// How many faults were resumed.
    public var resumedFaults: Int { resumed.load(ordering: .acquiring) }

    /// Gives the verdict on a fault.
    ///
    /// On the crash thread: allocates nothing.
    public func decide(_ fault: FaultSummary) -> Decision {
        let now = start.duration(to: .now)
        let hasBudget = state.withLock { $0.ledger.allows(at: now) }
        let decision = rule.decide(fault, hasBudget: hasBudget)
        if case .resume = decision.verdict {
            state.withLock { $0.ledger.spend(at: now) }
            resumed.add(1, ordering: .acquiringAndReleasing)
        }
        return decision
    }

    /// Posts the message of a fault that was resumed.
    ///
    /// On the crash thread, after the verdict: may allocate.
    public func post(_ message: CrashMessage) {
        state.withLock { $0.messages.append(message) }
        event.notify()
    }

    /// Puts the port source for crash messages on a loop, in its common modes.
    ///
    /// - Parameters:
    ///   - loop: The main loop.
    ///   - receive: Called on the loop's thread for each message.
    /// - Throws: `RunLoopError`.
    public func attach(
        to loop: HostRunLoop,
        receive: @escaping @Sendable (CrashMessage) -> Void
    ) throws(RunLoopError) {
        let port = HostRunLoop.PortSource(label: "crash messages", descriptor: event.rawValue) { [self] _ in
            event.clear()
            guard let message = takeMessage() else { return }
            // One a callout, and the next is asked for first: what `receive` does may fault.
            event.notify()
            receive(message)
        }
        portIdentifier.store(port.identifier, ordering: .releasing)
        try loop.add(port, to: .common)
    }

    private func takeMessage() -> CrashMessage? {
        state.withLock { $0.messages.isEmpty ? nil : $0.messages.removeFirst() }
    }
}
