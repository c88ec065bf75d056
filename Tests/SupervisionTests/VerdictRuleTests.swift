import Glibc
import Testing

@testable import CrashCapture
@testable import Supervision

/// The rule over all combinations of what it looks at, against decision 5 of the design written down a second time.
@Suite(.timeLimit(.minutes(1))) struct VerdictRuleTests {
    typealias Walk = FaultSummary.Walk

    private static let pid: CInt = 4711
    private static let signals = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]
    private static let ends: [Walk.End] = [.recoveryPoint, .outermost, .broken]
    private static let prefixes: [Walk.Prefix] = [.none, .swiftFailure, .swiftCode, .ownAbort, .foreign]
    private static let policies: [RecoveryPolicy] = [.never, .swiftTraps, .default, .allMemoryFaults]

    /// A way in which the kernel or a process raises a signal.
    private static let origins: [(code: CInt, sender: CInt)] = [
        (1, 0), (2, 0), (128, 0), (-6, pid), (0, pid), (-1, pid), (-6, 1), (0, 1), (0, 0), (-1, 815),
    ]

    /// Every fault that differs in something the rule may look at.
    private static func forEachFault(_ body: (FaultSummary) -> Void) {
        for signal in signals {
            for (code, sender) in origins {
                for address in [0, 4095, 4096, UInt64.max] {
                    for bits in 0..<64 {
                        for end in ends {
                            for prefix in prefixes {
                                for isForeign in [false, true] {
                                    body(
                                        FaultSummary(
                                            signal: signal,
                                            code: code,
                                            address: address,
                                            sender: sender,
                                            hasRecoveryPoint: bits & 1 == 0,
                                            isMainThread: bits & 16 == 0,
                                            isStackOverflow: bits & 2 != 0,
                                            isInTask: bits & 4 != 0,
                                            isInCriticalSection: bits & 8 != 0,
                                            walk: Walk(
                                                end: end,
                                                prefix: prefix,
                                                hasForeignFrame: isForeign,
                                                hasAbort: bits & 32 != 0
                                            )
                                        )
                                    )
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    private static func isResumable(_ fault: FaultSummary, _ policy: RecoveryPolicy) -> Bool {
        let isTrap = fault.signal == SIGILL || fault.signal == SIGTRAP
        let isAbort = fault.signal == SIGABRT
        guard fault.code > 0 || isAbort && fault.sender == pid && fault.code == -6 else { return false }
        guard fault.isMainThread, fault.hasRecoveryPoint else { return false }
        guard !fault.isInTask, !fault.isInCriticalSection else { return false }
        guard fault.walk.end == .recoveryPoint, !fault.walk.hasForeignFrame else { return false }
        let isAllowed =
            if isTrap || isAbort {
                policy.resumesTraps
            } else if fault.signal == SIGFPE {
                policy.resumesArithmeticFaults
            } else if fault.signal == SIGSEGV, fault.isStackOverflow {
                policy.resumesStackOverflows
            } else if fault.signal == SIGSEGV, fault.code != 128, fault.address < 4096 {
                policy.resumesNullAccesses
            } else {
                policy.resumesMemoryFaults
            }
        guard isAllowed else { return false }
        return switch fault.walk.prefix {
        case .none: !isAbort
        case .swiftFailure: isTrap || isAbort && fault.walk.hasAbort
        case .swiftCode: isTrap
        case .ownAbort: isAbort
        case .foreign: false
        }
    }

    private static func describe(_ fault: FaultSummary, _ decision: Decision) -> String {
        "\(fault) got \(decision.verdict): \(decision.reason)"
    }

    @Test(arguments: policies)
    func `Only what every condition clears is resumed`(policy: RecoveryPolicy) {
        let rule = VerdictRule(policy: policy, pid: Self.pid)
        var wrong: [String] = []
        var resumed = 0
        Self.forEachFault { fault in
            let decision = rule.decide(fault, hasBudget: true)
            let expected: Verdict =
                if fault.code <= 0, fault.sender != Self.pid {
                    .terminate
                } else {
                    Self.isResumable(fault, policy) ? .resume : .restart
                }
            if decision.verdict == .resume { resumed += 1 }
            if decision.verdict != expected, wrong.count < 10 { wrong.append(Self.describe(fault, decision)) }
        }
        #expect(wrong.isEmpty)
        #expect((resumed == 0) == (policy == .never))
    }

    @Test func `What is not resumed ends as the agent chose`() {
        let restart = VerdictRule(policy: .default, otherwise: .restart, pid: Self.pid)
        let terminate = VerdictRule(policy: .default, otherwise: .terminate, pid: Self.pid)
        var wrong: [String] = []
        Self.forEachFault { fault in
            let decision = terminate.decide(fault, hasBudget: true)
            let expected: Verdict = restart.decide(fault, hasBudget: true).verdict == .resume ? .resume : .terminate
            if decision.verdict != expected, wrong.count < 10 { wrong.append(Self.describe(fault, decision)) }
        }
        #expect(wrong.isEmpty)
    }

    @Test func `Without a budget, with an obstacle, or when every fault restarts, nothing is resumed`() {
        let plain = VerdictRule(policy: .allMemoryFaults, pid: Self.pid)
        let obstructed = VerdictRule(policy: .allMemoryFaults, obstacle: "an obstacle", pid: Self.pid)
        let restarting = VerdictRule(
            policy: .allMemoryFaults,
            otherwise: .terminate,
            restartsAfterEveryFault: true,
            pid: Self.pid
        )
        var wrong: [String] = []
        Self.forEachFault { fault in
            let decisions = [plain.decide(fault, hasBudget: false), obstructed.decide(fault, hasBudget: true)]
            for decision in decisions where decision.verdict == .resume { wrong.append(Self.describe(fault, decision)) }
            // Not even a restart where the agent does not want one, or is in a crash loop.
            let restart = restarting.decide(fault, hasBudget: true)
            if restart.verdict != .terminate { wrong.append(Self.describe(fault, restart)) }
        }
        #expect(wrong.prefix(10).isEmpty)
    }

    @Test(
        arguments: [
            (FaultSummary(signal: SIGSEGV, code: 0, sender: 1), "another process sent the signal"),
            (FaultSummary(signal: SIGSEGV, code: -6, sender: pid), "raised the signal itself"),
            (FaultSummary(signal: SIGILL, code: 2, hasRecoveryPoint: false), "outside of a callout"),
            (FaultSummary(signal: SIGILL, code: 2, isMainThread: false), "another thread"),
            (FaultSummary(signal: SIGILL, code: 2, isInTask: true), "a Swift task was running"),
            (FaultSummary(signal: SIGILL, code: 2, isInCriticalSection: true), "critical section"),
            (FaultSummary(signal: SIGSEGV, code: 2, isStackOverflow: true), "stack overflows"),
            (FaultSummary(signal: SIGSEGV, code: 1, address: 0x5000), "other than of page zero"),
            (FaultSummary(signal: SIGSEGV, code: 128), "other than of page zero"),
            (FaultSummary(signal: SIGILL, code: 2, walk: Walk(end: .outermost)), "does not lead to the recovery point"),
            (FaultSummary(signal: SIGILL, code: 2, walk: Walk(end: .broken)), "could not be walked"),
            (
                FaultSummary(signal: SIGILL, code: 2, walk: Walk(end: .recoveryPoint, hasForeignFrame: true)),
                "frame lies between"
            ),
            (
                FaultSummary(signal: SIGSEGV, code: 1, walk: Walk(end: .recoveryPoint, prefix: .swiftCode)),
                "Swift runtime itself"
            ),
            (FaultSummary(signal: SIGABRT, code: -6, sender: pid), "from nowhere"),
            (
                FaultSummary(signal: SIGABRT, code: -6, sender: pid, walk: Walk(end: .recoveryPoint, prefix: .foreign)),
                "inside a library"
            ),
            (FaultSummary(signal: SIGILL, code: 2), "only application frames"),
        ]
    )
    func `The reason says what stood in the way`(fault: FaultSummary, reason: String) {
        let decision = VerdictRule(policy: .default, pid: Self.pid).decide(fault, hasBudget: true)
        #expect(decision.reason.description.contains(reason))
    }

    @Test func `Every reason fits into a record`() {
        let rule = VerdictRule(policy: .default, pid: Self.pid)
        var longest = 0
        Self.forEachFault { longest = max(longest, rule.decide($0, hasBudget: true).reason.utf8CodeUnitCount) }
        #expect(longest > 0 && longest < 192)
    }
}
