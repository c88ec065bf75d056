import Glibc
import Testing

@testable import CrashCapture
@testable import Holdfast

/// The rule for callouts that are interrupted at their deadline, over all combinations of what it looks at.
@Suite(.timeLimit(.minutes(10))) struct OverdueVerdictTests {
    typealias Walk = FaultSummary.Walk

    private static let pid: CInt = 4711
    private static let ends: [Walk.End] = [.recoveryPoint, .outermost, .broken]
    private static let prefixes: [Walk.Prefix] = [.none, .swiftFailure, .swiftCode, .ownAbort, .waiting, .foreign]

    /// Every interruption that differs in something the rule may look at, with how many things speak against abandoning.
    private static let interruptions: [(fault: FaultSummary, objections: Int)] = ends.flatMap { end in
        prefixes.flatMap { prefix in
            (0..<512).map { bits in
                let walk = Walk(
                    end: end,
                    prefix: prefix,
                    hasForeignFrame: bits & 1 != 0,
                    hasNativeFrame: bits & 128 != 0,
                    hasUnknownFrame: bits & 256 != 0
                )
                let fault = FaultSummary(
                    signal: SIGSTKFLT,
                    code: -6,
                    sender: pid,
                    hasRecoveryPoint: bits & 2 == 0,
                    isMainThread: bits & 4 == 0,
                    isInTask: bits & 8 != 0,
                    isInCriticalSection: bits & 16 != 0,
                    holdsLock: bits & 32 != 0,
                    isInLockFrame: bits & 64 != 0,
                    isOverdue: true,
                    walk: walk
                )
                var objections = (bits & ~4).nonzeroBitCount
                if end != .recoveryPoint { objections += 1 }
                if prefix != .none, prefix != .waiting { objections += 1 }
                return (fault, objections)
            }
        }
    }

    @Test(arguments: [RecoveryPolicy.default, .allMemoryFaults])
    func `A callout is abandoned when nothing at all speaks against it`(policy: RecoveryPolicy) {
        let rule = VerdictRule(policy: policy, pid: Self.pid)
        for (fault, objections) in Self.interruptions {
            let decision = rule.decide(fault)
            #expect((decision.verdict == .resume) == (objections == 0), "\(fault): \(decision.reason)")
            #expect(decision.verdict == .resume || decision.verdict == .restart)
        }
        #expect(Self.interruptions.count { $0.objections == 0 } == 4, "two prefixes on two threads")
    }

    /// What is looked at without a verdict allows at most what the verdict does, or a callout would be ended that could have waited.
    @Test func `The look beforehand agrees with the verdict`() throws {
        let supervisor = try Supervisor(rule: VerdictRule(policy: .default, pid: Self.pid), budget: .generous)
        for (fault, objections) in Self.interruptions {
            #expect(fault.mayBeResumed == (objections == 0), "\(fault)")
            #expect(supervisor.mayAbandon(fault) == (objections == 0), "\(fault)")
        }
        #expect(supervisor.resumedFaults == 0)
    }

    @Test(arguments: [RecoveryPolicy.never, .swiftTraps])
    func `Policies that are for less abandon nothing`(policy: RecoveryPolicy) throws {
        let supervisor = try Supervisor(rule: VerdictRule(policy: policy, pid: Self.pid), budget: .generous)
        for (fault, _) in Self.interruptions { #expect(!supervisor.mayAbandon(fault)) }
        #expect(!supervisor.allowsAbandoning(item: 1))
        supervisor.policies.set(.default, forItem: 1)
        #expect(supervisor.allowsAbandoning(item: 1))
    }

    @Test func `A look spends no budget, and a verdict does`() throws {
        let budget = FaultBudget(perProcess: 1, perWindow: 10)
        let supervisor = try Supervisor(rule: VerdictRule(policy: .default, pid: Self.pid), budget: budget)
        let fault = FaultSummary(signal: SIGSTKFLT, code: -6, sender: Self.pid, isOverdue: true)
        for _ in 0..<10 { #expect(supervisor.mayAbandon(fault)) }
        #expect(supervisor.decide(fault).verdict == .resume)
        #expect(!supervisor.mayAbandon(fault))
        #expect(supervisor.decide(fault).verdict == .restart)
    }

    @Test func `Somebody else's signal is no deadline, nor is one of a process that is ending`() throws {
        let supervisor = try Supervisor(rule: VerdictRule(policy: .default, pid: Self.pid), budget: .generous)
        var fault = FaultSummary(signal: SIGSTKFLT, code: -6, sender: Self.pid, isOverdue: true)
        supervisor.isStopping = true
        #expect(!supervisor.mayAbandon(fault))
        supervisor.isStopping = false
        fault.sender = 1
        #expect(!supervisor.mayAbandon(fault))
        fault.sender = Self.pid
        fault.isOverdue = false
        #expect(supervisor.decide(fault).verdict == .restart)
    }

    @Test(
        arguments: [
            (Walk.Prefix.swiftCode, "inside the Swift runtime"), (.swiftFailure, "inside the Swift runtime"),
            (.foreign, "inside a library"), (.ownAbort, "inside a library"),
        ]
    )
    func `The reason says where it was interrupted`(prefix: Walk.Prefix, reason: String) {
        let walk = Walk(end: .recoveryPoint, prefix: prefix)
        let fault = FaultSummary(signal: SIGSTKFLT, code: -6, sender: Self.pid, isOverdue: true, walk: walk)
        let decision = VerdictRule(policy: .default, pid: Self.pid).decide(fault)
        #expect(decision.reason.description.contains(reason))
    }
}
