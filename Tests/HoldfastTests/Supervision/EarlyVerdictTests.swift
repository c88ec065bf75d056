import Glibc
import Testing

@testable import CrashCapture
@testable import Holdfast

/// What is said of a verdict before the stack was walked: another process serves from then on.
@Suite(.timeLimit(.minutes(10))) struct EarlyVerdictTests {
    typealias Walk = FaultSummary.Walk

    private static let pid: CInt = 4711
    private static let unwalked = Walk(end: .broken)
    private static let policies: [RecoveryPolicy] = [.never, .swiftTraps, .default, .allMemoryFaults]

    /// Whatever a walk may find above a recovery point.
    private static let walks: [Walk] = [Walk.End.recoveryPoint, .outermost, .broken].flatMap { end in
        [Walk.Prefix.none, .swiftFailure, .swiftCode, .ownAbort, .waiting, .foreign].flatMap { prefix in
            (0..<32).map { bits in
                Walk(
                    end: end,
                    prefix: prefix,
                    hasForeignFrame: bits & 1 != 0,
                    isInsideLibrary: bits & 2 != 0,
                    hasNativeFrame: bits & 4 != 0,
                    hasUnknownFrame: bits & 8 != 0,
                    hasAbort: bits & 16 != 0
                )
            }
        }
    }

    /// Faults of each kind, with everything that is known of one without its stack.
    private static let faults: [FaultSummary] = [
        (SIGILL, CInt(2), UInt64(0)), (SIGTRAP, 1, 0), (SIGFPE, 1, 0), (SIGABRT, -6, 0), (SIGSEGV, 1, 8),
        (SIGSEGV, 1, 1 << 40), (SIGBUS, 2, 1 << 40), (SIGSYS, 1, 0), (SIGXFSZ, 128, 0), (SIGXCPU, 128, 0),
        (SIGSEGV, 0, 0),
    ].flatMap { signal, code, address in
        (0..<1024).map { bits in
            FaultSummary(
                signal: signal,
                code: code,
                address: address,
                sender: code <= 0 ? pid : 0,
                hasRecoveryPoint: bits & 1 == 0,
                isMainThread: bits & 2 == 0,
                isStackOverflow: bits & 4 != 0,
                isInTask: bits & 8 != 0,
                isInCriticalSection: bits & 16 != 0,
                holdsLock: bits & 32 != 0,
                hasOpenRuntimeState: bits & 64 != 0,
                isCalloutUnreadable: bits & 128 != 0,
                isExiting: bits & 256 != 0,
                foundNoRoom: bits & 512 != 0,
                walk: unwalked
            )
        }
    }

    @Test(arguments: policies.indices, [nil, "the budget is spent"] as [StaticString?])
    func `What is to restart before the walk restarts whatever the walk finds`(policy: Int, spent: StaticString?) {
        let rule = VerdictRule(policy: Self.policies[policy], pid: Self.pid)
        let circumstances = VerdictRule.Circumstances(spent: spent)
        var (early, late) = (0, 0)
        for fault in Self.faults {
            guard let decision = rule.decideBeforeWalk(fault, in: circumstances) else {
                late += 1
                continue
            }
            early += 1
            guard decision.verdict == .restart, !decision.drains else {
                Issue.record("\(fault): \(decision.verdict)")
                return
            }
            for walk in Self.walks {
                var walked = fault
                walked.walk = walk
                let decision = rule.decide(walked, in: circumstances)
                if decision.verdict != .restart || decision.drains {
                    Issue.record("\(walked): \(decision.verdict) \(decision.reason)")
                    return
                }
            }
        }
        #expect(early > 500 && late > 500, "\(early) \(late)")
    }

    @Test func `A trap in a callout restarts before the walk where none is resumed, and elsewhere waits for it`() {
        let trap = FaultSummary(signal: SIGILL, code: 2, walk: Self.unwalked)
        for (policy, expected) in [(RecoveryPolicy.never, true), (.default, false)] {
            let rule = VerdictRule(policy: policy, pid: Self.pid)
            #expect((rule.decideBeforeWalk(trap, in: .init()) != nil) == expected)
            #expect(rule.decideBeforeWalk(trap, in: .init(spent: "spent")) != nil)
            #expect(rule.decideBeforeWalk(trap, in: .init(spent: "spent", isStopping: true)) == nil)
        }
        // Who ends by the signal is not replaced by another one of us.
        let ending = VerdictRule(policy: .never, otherwise: .terminate, pid: Self.pid)
        #expect(ending.decideBeforeWalk(trap, in: .init()) == nil)
    }

    @Test func `Asking spends no budget, and one that is spent restarts`() throws {
        let budget = FaultBudget(perProcess: 1, perWindow: 10)
        let supervisor = try Supervisor(rule: VerdictRule(policy: .default, pid: Self.pid), budget: budget)
        var trap = FaultSummary(signal: SIGILL, code: 2, walk: Self.unwalked)
        for _ in 0..<10 { #expect(supervisor.decideBeforeWalk(trap) == nil) }
        trap.walk = Walk(end: .recoveryPoint)
        #expect(supervisor.decide(trap).verdict == .resume)
        trap.walk = Self.unwalked
        #expect(supervisor.decideBeforeWalk(trap)?.verdict == .restart)
        supervisor.isEnding = true
        #expect(supervisor.decideBeforeWalk(trap) == nil)
    }
}
