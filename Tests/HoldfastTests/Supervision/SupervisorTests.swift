import CrashCapture
import Glibc
import RunLoops
import StallDetection
import Synchronization
import TestSupport
import Testing

@testable import Holdfast

/// Verdicts as they are spent, and the messages of resumed faults.
@Suite(.timeLimit(.minutes(10))) struct SupervisorTests {
    private static let fault = FaultSummary(signal: SIGILL, code: 2)

    private func supervisor(
        _ budget: FaultBudget = .default,
        quarantine: QuarantinePolicy? = nil,
        policy: RecoveryPolicy = .default
    ) throws -> Supervisor {
        try Supervisor(rule: VerdictRule(policy: policy, pid: getpid()), budget: budget, quarantine: quarantine)
    }

    private static func fault(of item: UInt64, number: UInt32 = 1) -> FaultSummary {
        FaultSummary(number: number, signal: SIGILL, code: 2, item: item)
    }

    /// Takes the messages that wait, on a loop of its own.
    private static func messages(of supervisor: Supervisor, _ count: Int) async -> [CrashMessage] {
        await withCheckedContinuation { continuation in
            TestLoopThread.run { loop in
                let received = Mutex<[CrashMessage]>([])
                _ = try? supervisor.attach(to: loop) { message in
                    let isLast = received.withLock { received in
                        received.append(message)
                        return received.count == count
                    }
                    if isLast { loop.stop() }
                }
                loop.run(in: .default, for: .seconds(20))
                continuation.resume(returning: received.withLock { $0 })
            }
        }
    }

    @Test func `Resumed faults are counted and spend the budget, others do neither`() throws {
        let supervisor = try supervisor(FaultBudget(perProcess: 2, perWindow: 10))
        let sent = FaultSummary(signal: SIGSEGV, code: 0, sender: 1)
        #expect(supervisor.decide(sent).verdict == .terminate)
        #expect(supervisor.decide(Self.fault).verdict == .resume)
        #expect(supervisor.decide(FaultSummary(signal: SIGBUS, code: 2)).verdict == .restart)
        #expect(supervisor.decide(Self.fault).verdict == .resume)
        #expect(supervisor.resumedFaults == 2)
        let last = supervisor.decide(Self.fault)
        #expect(last.verdict == .restart)
        #expect(last.reason.description.contains("budget"))
        #expect(supervisor.resumedFaults == 2)
    }

    @Test func `Messages come on the loop in their order, each once, also those that came before it ran`() async throws
    {
        let supervisor = try supervisor(.default)
        let numbers: [Int] = await withCheckedContinuation { continuation in
            TestLoopThread.run { loop in
                let received = Mutex<[Int]>([])
                for number in 1...3 { supervisor.post(CrashMessage(number: number, signal: SIGILL, item: 1)) }
                _ = try? supervisor.attach(to: loop) { message in
                    received.withLock { $0.append(message.number) }
                    // One more comes while one is received.
                    if message.number == 2 { supervisor.post(CrashMessage(number: 4, signal: SIGSEGV, item: 2)) }
                    if message.number == 4 { loop.stop() }
                }
                loop.run(in: .default, for: .seconds(20))
                // Nothing comes twice.
                loop.run(in: .default, for: .zero)
                continuation.resume(returning: received.withLock { $0 })
            }
        }
        #expect(numbers == [1, 2, 3, 4])
    }

    @Test func `Making one spends nothing`() throws {
        let supervisor = try supervisor(FaultBudget(perProcess: 1, perWindow: 1, perItem: 1), quarantine: .default)
        #expect(supervisor.resumedFaults == 0)
        #expect(supervisor.quarantinedItems.isEmpty)
        #expect(supervisor.decide(Self.fault).verdict == .resume)
    }

    @Test func `When the run is over, a fault ends the process, until it runs again`() throws {
        let supervisor = try supervisor()
        supervisor.isStopping = true
        #expect(supervisor.decide(Self.fault).verdict == .terminate)
        #expect(supervisor.resumedFaults == 0)
        supervisor.isStopping = false
        #expect(supervisor.decide(Self.fault).verdict == .resume)
    }

    @Test func `A signal of another process ends it even while the lock is held`() throws {
        let supervisor = try supervisor()
        let sent = FaultSummary(signal: SIGABRT, code: 0, sender: 1)
        let verdict = supervisor.state.withLock { _ in supervisor.decide(sent).verdict }
        #expect(verdict == .terminate)
    }

    // MARK: Policies of items

    @Test func `An item with a policy of its own is judged by that, until it is taken away`() throws {
        let supervisor = try supervisor()
        supervisor.policies.set(.never, forItem: 8)
        #expect(supervisor.policies.policy(ofItem: 8) == .never)
        #expect(supervisor.decide(Self.fault(of: 8)).verdict == .restart)
        #expect(supervisor.decide(Self.fault(of: 10)).verdict == .resume)
        supervisor.policies.set(.swiftTraps, forItem: 8)
        #expect(supervisor.decide(Self.fault(of: 8)).verdict == .resume)
        supervisor.policies.set(nil, forItem: 8)
        supervisor.policies.set(nil, forItem: 8)
        #expect(supervisor.policies.policy(ofItem: 8) == nil)
        #expect(supervisor.decide(Self.fault(of: 8)).verdict == .resume)
    }

    @Test func `There is room for any number of policies`() throws {
        let policies = RecoveryPolicyTable(capacity: 8)
        for item in 1...3000 as ClosedRange<UInt64> {
            policies.set(item % 2 == 0 ? .never : .swiftTraps, forItem: item)
        }
        for item in 1...3000 as ClosedRange<UInt64> where item % 3 == 0 { policies.set(nil, forItem: item) }
        let wrong = (1...3000 as ClosedRange<UInt64>).filter { item in
            let expected: RecoveryPolicy? = item % 3 == 0 ? nil : item % 2 == 0 ? .never : .swiftTraps
            return policies.policy(ofItem: item) != expected
        }
        #expect(wrong.isEmpty)
    }

    @Test func `The table grows while verdicts are given, and while others set policies, too`() async {
        let policies = RecoveryPolicyTable(capacity: 8)
        await withTaskGroup(of: Void.self) { group in
            for part in 0..<4 as Range<UInt64> {
                group.addTask {
                    for item in 1...2000 as ClosedRange<UInt64> { policies.set(.never, forItem: 4 * item + part) }
                }
            }
            group.addTask {
                for _ in 0..<20_000 where policies.policy(ofItem: 1_000_000) != nil { Issue.record("nobody set it") }
            }
        }
        #expect((8...8003 as ClosedRange<UInt64>).allSatisfy { policies.policy(ofItem: $0) == .never })
    }

    @Test func `Policies of items are their properties, and go with them`() throws {
        var timers = (0..<3000).map { _ in HostRunLoop.Timer(label: "timer", after: .seconds(1000)) { _ in } }
        for timer in timers {
            timer.recoveryPolicy = .never
            timer.stallPolicy = .ignored
            timer.calloutDeadline = .never
        }
        #expect(
            timers.allSatisfy {
                $0.recoveryPolicy == .never && $0.stallPolicy == .ignored && $0.calloutDeadline == .never
            }
        )
        let first = timers[0]
        first.recoveryPolicy = nil
        #expect(first.recoveryPolicy == nil && first.stallPolicy == .ignored)
        #expect(!first.isQuarantined && !first.endQuarantine())
        let identifiers = timers.dropFirst().map(\.identifier)
        timers = []
        // Those that are gone are looked for when there may be many.
        let more = (0..<6000).map { _ in HostRunLoop.Timer(label: "timer", after: .seconds(1000)) { _ in } }
        for timer in more { timer.stallPolicy = .ignored }
        #expect(identifiers.allSatisfy { ItemPolicies.recovery.policy(ofItem: $0) == nil })
        #expect(identifiers.allSatisfy { ItemDeadlines.shared.deadline(ofItem: $0) == nil })
        for timer in more { timer.stallPolicy = nil }
    }

    @Test func `The policy of a command source is that of the source on which it stands`() {
        let commands = HostRunLoop.CommandSource<Int>(label: "commands", capacity: 4) { _, _ in }
        commands.recoveryPolicy = .never
        #expect(commands.recoveryPolicy == .never)
        #expect(commands.calloutIdentifiers.allSatisfy { ItemPolicies.recovery.policy(ofItem: $0) == .never })
        commands.recoveryPolicy = nil
    }

    @Test func `An objection is warmed up where it is set, with a fault that is none`() throws {
        let numbers = Mutex<[UInt32]>([])
        let policy = RecoveryPolicy.default.objecting { fault in
            numbers.withLock { $0.append(fault.number) }
            return fault.number == 0 ? "nobody hears this" : nil
        }
        let supervisor = try supervisor(policy: policy)
        // As the crash thread does before the first verdict.
        supervisor.warmUp()
        #expect(numbers.withLock { $0 }.contains(0))
        supervisor.policies.set(policy, forItem: 8)
        numbers.withLock { $0 = [] }
        #expect(supervisor.decide(Self.fault(of: 8, number: 3)).verdict == .resume)
        #expect(numbers.withLock { $0 } == [3])
    }

    @Test func `Policies may change while verdicts are given`() async throws {
        let supervisor = try supervisor(.generous)
        let bank = RecoveryPolicy.default.objecting { _ in "objected" }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for round in 0..<5000 { supervisor.policies.set(round % 2 == 0 ? .default : bank, forItem: 8) }
            }
            group.addTask {
                for _ in 0..<5000 {
                    let decision = supervisor.decide(Self.fault(of: 8))
                    let isWhole = decision.verdict == .resume || decision.reason.description == "objected"
                    if !isWhole { Issue.record("\(decision)") }
                }
            }
        }
        #expect(supervisor.policies.policy(ofItem: 8) == bank)
    }

    // MARK: Budgets of items and quarantine

    @Test func `Without quarantine, an item whose budget is spent restarts the process`() throws {
        let supervisor = try supervisor(FaultBudget(perProcess: 100, perWindow: 100, perItem: 2))
        for _ in 0..<2 { #expect(supervisor.decide(Self.fault(of: 8)).verdict == .resume) }
        let decision = supervisor.decide(Self.fault(of: 8))
        #expect(decision.verdict == .restart)
        #expect(decision.reason.description.contains("of the item"))
        #expect(supervisor.decide(Self.fault(of: 10)).verdict == .resume)
        supervisor.forgive(item: 8)
        #expect(supervisor.decide(Self.fault(of: 8)).verdict == .resume)
    }

    @Test func `With quarantine, the fault that spends the budget of an item is resumed and takes the item out`() throws
    {
        let budget = FaultBudget(perProcess: 100, perWindow: 100, perItem: 2)
        let supervisor = try supervisor(budget, quarantine: .default)
        let first = supervisor.decide(Self.fault(of: 8))
        #expect(first.verdict == .resume && !first.quarantines)
        let second = supervisor.decide(Self.fault(of: 8))
        #expect(second.verdict == .resume && second.quarantines)
        #expect(second.reason.description.contains("faults too often"))
        #expect(supervisor.quarantinedItems == [8])
        let left = try #require(supervisor.timeToNextDueItem)
        #expect(left > .zero && left <= .seconds(30))
        #expect(supervisor.takeDueItem() == nil)
        #expect(supervisor.endQuarantine(ofItem: 8))
        #expect(!supervisor.endQuarantine(ofItem: 8))
        #expect(supervisor.decide(Self.fault(of: 8)).quarantines, "on probation one is enough")
        supervisor.forgive(item: 8)
        #expect(supervisor.quarantinedItems.isEmpty)
        #expect(supervisor.timeToNextDueItem == nil)
    }

    @Test func `What is due is put back once`() throws {
        let supervisor = try supervisor(
            FaultBudget(perProcess: 100, perWindow: 100, perItem: 1),
            quarantine: QuarantinePolicy(times: .none)
        )
        #expect(supervisor.decide(Self.fault(of: 8)).quarantines)
        #expect(supervisor.timeToNextDueItem == .zero)
        #expect(supervisor.takeDueItem() == 8)
        #expect(supervisor.takeDueItem() == nil)
    }

    @Test func `Faults that are not resumed do not count against their item`() throws {
        let supervisor = try supervisor(FaultBudget(perProcess: 100, perWindow: 100, perItem: 1), quarantine: .default)
        #expect(supervisor.decide(FaultSummary(signal: SIGBUS, code: 2, item: 8)).verdict == .restart)
        #expect(supervisor.quarantinedItems.isEmpty)
    }

    @Test func `No item, and what its policy or its work forbids, is not put into quarantine`() async throws {
        let budget = FaultBudget(perProcess: 100, perWindow: 100, perItem: 3)
        let supervisor = try supervisor(budget, quarantine: .default)
        for _ in 0..<5 {
            let decision = supervisor.decide(Self.fault(of: 0))
            #expect(decision.verdict == .resume && !decision.quarantines)
        }
        var policy = RecoveryPolicy.default
        policy.allowsQuarantine = false
        supervisor.policies.set(policy, forItem: 8)
        // The port of the crash messages themselves: without it nobody would hear of a quarantine.
        supervisor.post(CrashMessage(number: 1, signal: SIGILL, item: 1))
        _ = await Self.messages(of: supervisor, 1)
        #expect(supervisor.portItem != 0)
        for item in [8, supervisor.portItem] {
            for _ in 0..<3 {
                let decision = supervisor.decide(Self.fault(of: item))
                #expect(decision.verdict == .resume && !decision.quarantines)
            }
        }
        #expect(supervisor.decide(Self.fault(of: 8)).verdict == .restart, "its budget holds instead")
        // What faults there is one of many handlers: only the budgets of the process hold.
        #expect(supervisor.decide(Self.fault(of: supervisor.portItem)).verdict == .resume)
        #expect(supervisor.quarantinedItems.isEmpty)
    }

    @Test(arguments: [QuarantinePolicy.default, nil])
    func `A port that many peers share counts in the budgets of the process alone`(quarantine: QuarantinePolicy?) throws
    {
        let supervisor = try supervisor(
            FaultBudget(perProcess: 100, perWindow: 4, perItem: 2),
            quarantine: quarantine
        )
        let shared = FaultSummary(signal: SIGILL, code: 2, item: 8, isOfSharedPort: true)
        let overdue = FaultSummary(
            signal: SIGSTKFLT,
            code: -6,
            sender: getpid(),
            isOverdue: true,
            item: 8,
            isOfSharedPort: true,
            walk: FaultSummary.Walk(end: .recoveryPoint)
        )
        for _ in 0..<4 {
            #expect(supervisor.mayAbandon(overdue))
            let decision = supervisor.decide(shared)
            #expect(decision.verdict == .resume && !decision.quarantines)
        }
        #expect(supervisor.quarantinedItems.isEmpty)
        let last = supervisor.decide(shared)
        #expect(last.verdict == .restart)
        #expect(last.reason.description.contains("budget") && !last.reason.description.contains("item"))
    }

    @Test func `Once the process was told to end, what would restart it ends it, and the rest is resumed`() throws {
        let supervisor = try supervisor()
        let worker = FaultSummary(signal: SIGILL, code: 1, hasRecoveryPoint: false, isMainThread: false)
        #expect(supervisor.decide(worker).verdict == .restart)
        supervisor.isEnding = true
        let decision = supervisor.decide(worker)
        #expect(decision.verdict == .terminate && !decision.drains)
        #expect(supervisor.decide(Self.fault(of: 8)).verdict == .resume)
    }

    @Test func `When there is no room for more in quarantine, the process restarts`() throws {
        let supervisor = try supervisor(
            FaultBudget(perProcess: .max, perWindow: .max, perItem: 1),
            quarantine: QuarantinePolicy(times: .forever)
        )
        for item in 1...64 as ClosedRange<UInt64> { #expect(supervisor.decide(Self.fault(of: 2 * item)).quarantines) }
        let decision = supervisor.decide(Self.fault(of: 130))
        #expect(decision.verdict == .restart)
        #expect(decision.reason.description.contains("more items are in quarantine"))
    }

    @Test func `What abandoned frames cost is counted, and ends the budget`() throws {
        let supervisor = try supervisor(FaultBudget(perProcess: 10, perWindow: 10, lostBytes: 100, lostDescriptors: 2))
        supervisor.noteCost(bytes: 99)
        supervisor.noteDescriptors(1)
        #expect(supervisor.decide(Self.fault).verdict == .resume)
        supervisor.noteDescriptors(1)
        #expect(supervisor.decide(Self.fault).reason.description.contains("descriptors"))
        supervisor.noteCost(bytes: 1)
        #expect(supervisor.decide(Self.fault).reason.description.contains("memory"))
        #expect(supervisor.lostBytes == 100 && supervisor.lostDescriptors == 2)
    }

    // MARK: Messages

    @Test func `The loop hears what happened: resumed, quarantined, draining, and on which thread`() async throws {
        let supervisor = try supervisor(
            FaultBudget(perProcess: 100, perWindow: 100, perItem: 2),
            quarantine: QuarantinePolicy(times: BackOff(first: .seconds(9), longest: .seconds(9)))
        )
        for number in 1...2 as ClosedRange<UInt32> {
            let fault = Self.fault(of: 8, number: number)
            _ = supervisor.decide(fault)
            supervisor.post(resumed: fault, thread: 99)
        }
        supervisor.post(draining: Self.fault(of: 0, number: 3), thread: 100, until: .distantFuture)
        let signal = SIGILL
        #expect(
            await Self.messages(of: supervisor, 3) == [
                CrashMessage(number: 1, signal: signal, item: 8, thread: 99),
                CrashMessage(
                    number: 2,
                    signal: signal,
                    item: 8,
                    thread: 99,
                    event: .quarantined(coolDown: .seconds(9))
                ),
                CrashMessage(number: 3, signal: signal, item: 0, thread: 100, event: .draining(until: .distantFuture)),
            ]
        )
    }

    @Test func `A flood of messages is merged, and none goes uncounted`() async throws {
        let supervisor = try supervisor()
        for number in 1...5000 { supervisor.post(CrashMessage(number: number, signal: SIGILL, item: 1)) }
        let messages = await Self.messages(of: supervisor, MessageQueue.capacity)
        #expect(messages.count == MessageQueue.capacity)
        #expect(messages.count + messages.map(\.merged).reduce(0, +) == 5000)
        #expect(messages.last?.number == 5000)
    }
}
