import Glibc
import Synchronization
import Testing

@testable import CrashCapture

/// Compares the rule, for all combinations of its inputs, with the same rule written a second time, in a different form.
@Suite(.timeLimit(.minutes(10))) struct VerdictRuleTests {
    typealias Walk = FaultSummary.Walk

    private static let pid: CInt = 4711
    private static let signals = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]
    private static let ends: [Walk.End] = [.recoveryPoint, .outermost, .broken]
    private static let prefixes: [Walk.Prefix] = [.none, .swiftFailure, .swiftCode, .ownAbort, .waiting, .foreign]
    private static let policies: [RecoveryPolicy] = [.never, .swiftTraps, .default, .allMemoryFaults]

    /// A way in which the kernel or a process raises a signal.
    private static let origins: [(code: CInt, sender: CInt)] = [
        (1, 0), (2, 0), (128, 0), (-6, pid), (0, pid), (-1, pid), (-6, 1), (0, 1), (0, 0), (-1, 815),
    ]

    /// Every walk that differs in something the rule may look at.
    private static let walks = ends.flatMap { end in
        prefixes.flatMap { prefix in
            (0..<16).filter { $0.nonzeroBitCount < 2 }.map { bits in
                Walk(
                    end: end,
                    prefix: prefix,
                    hasForeignFrame: bits & 1 != 0,
                    hasNativeFrame: bits & 4 != 0,
                    hasUnknownFrame: bits & 8 != 0,
                    hasAbort: bits & 2 != 0
                )
            }
        }
    }

    /// Every fault that differs in something the rule may look at.
    private static func forEachFault(_ body: (FaultSummary) -> Void) {
        for signal in signals {
            for (code, sender) in origins {
                for address in [0, 4095, 4096, UInt64.max] {
                    // One thing that denies is enough, so no more than two of them meet.
                    for bits in 0..<512 where bits.nonzeroBitCount < 3 {
                        for walk in walks {
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
                                    holdsLock: bits & 32 != 0,
                                    isInLockFrame: bits & 64 != 0,
                                    isInJob: bits & 128 != 0,
                                    isIsolated: bits & 256 != 0,
                                    walk: walk
                                )
                            )
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
        guard fault.isMainThread || fault.isInJob || policy.resumesOtherLoops else { return false }
        guard fault.hasRecoveryPoint else { return false }
        guard !fault.isIsolated, !fault.isInTask, !fault.isInCriticalSection else { return false }
        guard !fault.holdsLock, !fault.isInLockFrame else { return false }
        guard fault.walk.end == .recoveryPoint, !fault.walk.hasForeignFrame else { return false }
        guard !fault.walk.hasNativeFrame, !fault.walk.hasUnknownFrame else { return false }
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
        case .waiting, .foreign: false
        }
    }

    /// Whether a restart for a fault leaves the main loop time to drain.
    private static func drains(_ fault: FaultSummary) -> Bool {
        guard !fault.isMainThread, !fault.isInCriticalSection, fault.walk.end != .broken else { return false }
        guard !fault.walk.isInsideLibrary else { return false }
        return switch fault.walk.prefix {
        case .none, .swiftFailure, .ownAbort, .waiting: true
        case .swiftCode: fault.signal == SIGILL || fault.signal == SIGTRAP
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
            let decision = rule.decide(fault)
            let expected: Verdict =
                if fault.code <= 0, fault.sender != Self.pid {
                    .terminate
                } else {
                    Self.isResumable(fault, policy) ? .resume : .restart
                }
            let drains = expected == .restart && Self.drains(fault)
            if decision.verdict == .resume { resumed += 1 }
            if decision.verdict != expected || decision.drains != drains || decision.quarantines, wrong.count < 10 {
                wrong.append(Self.describe(fault, decision))
            }
        }
        #expect(wrong.isEmpty)
        #expect((resumed == 0) == (policy == .never))
    }

    @Test func `Whether other loops are resumed says nothing of jobs in boundaries, and no isolated job is resumed`() {
        var policy = RecoveryPolicy.swiftTraps
        policy.resumesOtherLoops = false
        let rule = VerdictRule(policy: policy, pid: Self.pid)
        var fault = FaultSummary(signal: SIGILL, code: 2, isMainThread: false)
        #expect(rule.decide(fault).verdict == .restart)
        fault.isInJob = true
        #expect(rule.decide(fault).verdict == .resume)
        fault.isIsolated = true
        let decision = rule.decide(fault)
        #expect(decision.verdict == .restart && decision.drains)
    }

    @Test func `A fault that finds no room for its record is not resumed, whatever speaks for it`() {
        let rule = VerdictRule(policy: .allMemoryFaults, pid: Self.pid)
        var resumed = 0
        Self.forEachFault { fault in
            var fault = fault
            fault.foundNoRoom = true
            if rule.decide(fault).verdict == .resume { resumed += 1 }
        }
        #expect(resumed == 0)
    }

    @Test func `What is not resumed ends as the agent chose`() {
        let restart = VerdictRule(policy: .default, otherwise: .restart, pid: Self.pid)
        let terminate = VerdictRule(policy: .default, otherwise: .terminate, pid: Self.pid)
        var wrong: [String] = []
        Self.forEachFault { fault in
            let decision = terminate.decide(fault)
            let expected: Verdict = restart.decide(fault).verdict == .resume ? .resume : .terminate
            if decision.verdict != expected || decision.drains, wrong.count < 10 {
                wrong.append(Self.describe(fault, decision))
            }
        }
        #expect(wrong.isEmpty)
    }

    @Test func `Without a budget, with an obstacle, or by the policy that resumes nothing, nothing is resumed`() {
        let plain = VerdictRule(policy: .allMemoryFaults, pid: Self.pid)
        let obstructed = VerdictRule(policy: .allMemoryFaults, obstacle: "an obstacle", pid: Self.pid)
        let ending = VerdictRule(policy: .never, otherwise: .terminate, pid: Self.pid)
        let spent = VerdictRule.Circumstances(spent: "a budget is spent")
        var wrong: [String] = []
        Self.forEachFault { fault in
            let decisions = [plain.decide(fault, in: spent), obstructed.decide(fault)]
            for decision in decisions where decision.verdict == .resume { wrong.append(Self.describe(fault, decision)) }
            // Not even a restart where the agent does not want one, or is in a crash loop.
            let end = ending.decide(fault)
            if end.verdict != .terminate { wrong.append(Self.describe(fault, end)) }
        }
        #expect(wrong.prefix(10).isEmpty)
    }

    @Test(
        arguments: [
            (FaultSummary(signal: SIGSEGV, code: 0, sender: 1), "another process sent the signal"),
            (FaultSummary(signal: SIGSEGV, code: -6, sender: pid), "raised the signal itself"),
            (FaultSummary(signal: SIGILL, code: 2, hasRecoveryPoint: false), "outside of a callout"),
            (FaultSummary(signal: SIGILL, code: 2, isMainThread: false), "only application frames"),
            (FaultSummary(signal: SIGILL, code: 2, isMainThread: false, isInJob: true), "only application frames"),
            (FaultSummary(signal: SIGILL, code: 2, isInJob: true, isIsolated: true), "isolated to an actor"),
            (FaultSummary(signal: SIGILL, code: 2, holdsLock: true), "a lock that the callout took is still held"),
            (FaultSummary(signal: SIGILL, code: 2, isInLockFrame: true), "a function that holds a lock"),
            (FaultSummary(signal: SIGILL, code: 2, hasOpenRuntimeState: true), "cannot be put back"),
            (FaultSummary(signal: SIGILL, code: 2, isInInitialiser: true), "would count as made"),
            (FaultSummary(signal: SIGILL, code: 2, isExiting: true), "has called exit"),
            (FaultSummary(signal: SIGABRT, code: 0, sender: 1), "another process sent the signal"),
            (FaultSummary(signal: SIGILL, code: 2, foundNoRoom: true), "no room for the next record"),
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
                FaultSummary(signal: SIGILL, code: 2, walk: Walk(end: .recoveryPoint, hasNativeFrame: true)),
                "C or C++ function of the executable"
            ),
            (
                FaultSummary(signal: SIGILL, code: 2, walk: Walk(end: .recoveryPoint, hasUnknownFrame: true)),
                "has no symbols"
            ),
            (
                FaultSummary(
                    signal: SIGILL,
                    code: 2,
                    isProgramUnread: true,
                    walk: Walk(end: .recoveryPoint, hasUnknownFrame: true)
                ),
                "C library: the program's file, or its debug information, could not be read"
            ),
            (
                FaultSummary(signal: SIGILL, code: 2, isInLockFrame: true, isProgramUnread: true),
                "holds a lock cannot be told: the program's file, or its debug information, could not be read"
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
        let decision = VerdictRule(policy: .default, pid: Self.pid).decide(fault)
        #expect(decision.reason.description.contains(reason))
    }

    @Test func `Without the switch no callout of another loop is resumed, and the main loop's as ever`() {
        var policy = RecoveryPolicy.default
        policy.resumesOtherLoops = false
        let strict = VerdictRule(policy: policy, pid: Self.pid)
        let plain = VerdictRule(policy: .default, pid: Self.pid)
        var wrong: [String] = []
        var denied = 0
        Self.forEachFault { fault in
            let decision = strict.decide(fault)
            let expected = plain.decide(fault).verdict
            if fault.isMainThread || fault.isInJob || expected != .resume {
                if decision.verdict != expected { wrong.append(Self.describe(fault, decision)) }
            } else {
                denied += 1
                if decision.verdict != .restart { wrong.append(Self.describe(fault, decision)) }
            }
        }
        #expect(wrong.prefix(10).isEmpty)
        #expect(denied > 0)
        let other = FaultSummary(signal: SIGILL, code: 2, isMainThread: false)
        #expect(strict.decide(other).reason.description.contains("on another thread than the main one"))
    }

    @Test
    func `When the run of the host is over, every fault but those in boundaries ends the process as its signal says`() {
        let rule = VerdictRule(policy: .allMemoryFaults, pid: Self.pid)
        let stopping = VerdictRule.Circumstances(isStopping: true)
        var wrong: [String] = []
        Self.forEachFault { fault in
            let decision = rule.decide(fault, in: stopping)
            let isRight =
                fault.isInJob
                ? decision.verdict == rule.decide(fault).verdict : decision.verdict == .terminate && !decision.drains
            if !isRight { wrong.append(Self.describe(fault, decision)) }
        }
        #expect(wrong.prefix(10).isEmpty)
        let fault = FaultSummary(signal: SIGILL, code: 2)
        #expect(rule.decide(fault, in: stopping).reason.description.contains("run of the host is over"))
    }

    @Test func `With an obstacle nothing drains: frames cannot be told apart`() {
        let worker = FaultSummary(signal: SIGILL, code: 2, hasRecoveryPoint: false, isMainThread: false)
        #expect(VerdictRule(policy: .default, pid: Self.pid).decide(worker).drains)
        #expect(!VerdictRule(policy: .default, obstacle: "an obstacle", pid: Self.pid).decide(worker).drains)
    }

    @Test func `What is denied is not resumed, even by a rule that was made wrong`() {
        let rule = VerdictRule(policy: .never, otherwise: .resume, pid: Self.pid)
        #expect(rule.decide(FaultSummary(signal: SIGILL, code: 2)).verdict == .restart)
    }

    @Test func `An objection denies further, and never allows`() {
        let policy = RecoveryPolicy.default.objecting { fault in fault.item == 7 ? "item 7 is the bank" : nil }
        let rule = VerdictRule(policy: policy, pid: Self.pid)
        let plain = VerdictRule(policy: .default, pid: Self.pid)
        let bank = rule.decide(FaultSummary(signal: SIGILL, code: 2, item: 7))
        #expect(bank.verdict == .restart)
        #expect(bank.reason.description == "item 7 is the bank")
        var wrong: [String] = []
        Self.forEachFault { fault in
            let decision = rule.decide(fault)
            if decision.verdict != plain.decide(fault).verdict { wrong.append(Self.describe(fault, decision)) }
        }
        #expect(wrong.prefix(10).isEmpty)
    }

    @Test func `An objection is asked only about what would be resumed`() {
        let asked = Mutex(0)
        let policy = RecoveryPolicy.default.objecting { _ in
            asked.withLock { $0 += 1 }
            return nil
        }
        let rule = VerdictRule(policy: policy, pid: Self.pid)
        var resumed = 0
        Self.forEachFault { if rule.decide($0).verdict == .resume { resumed += 1 } }
        #expect(asked.withLock { $0 } == resumed)
        #expect(resumed > 0)
    }

    @Test func `Policies are equal as far as they can be compared`() {
        let policy = RecoveryPolicy.default.objecting { _ in nil }
        let copy = policy
        #expect(policy == copy)
        #expect(policy.hashValue == copy.hashValue)
        #expect(policy != RecoveryPolicy.default.objecting { _ in nil })
        #expect(policy != .default)
        var without = policy
        without.objection = nil
        #expect(without == .default)
    }

    @Test func `The policy of an item stands in for the rule's`() {
        let rule = VerdictRule(policy: .default, pid: Self.pid)
        let fault = FaultSummary(signal: SIGILL, code: 2)
        #expect(rule.decide(fault, in: VerdictRule.Circumstances(policy: .never)).verdict == .restart)
        let wild = FaultSummary(signal: SIGSEGV, code: 1, address: 0x5000)
        #expect(rule.decide(wild).verdict == .restart)
        #expect(rule.decide(wild, in: VerdictRule.Circumstances(policy: .allMemoryFaults)).verdict == .resume)
    }

    @Test func `Every reason fits into a record`() {
        let rule = VerdictRule(policy: .default, pid: Self.pid)
        var longest = 0
        Self.forEachFault { longest = max(longest, rule.decide($0).reason.utf8CodeUnitCount) }
        #expect(longest > 0 && longest < 192)
    }

    @Test func `Where a library called back, the main loop may wait for its locks: no drain`() {
        let rule = VerdictRule(policy: .default, pid: Self.pid)
        for (isInside, drains) in [(false, true), (true, false)] {
            let walk = Walk(end: .outermost, hasForeignFrame: isInside, isInsideLibrary: isInside)
            let fault = FaultSummary(
                signal: SIGILL,
                code: 1,
                hasRecoveryPoint: false,
                isMainThread: false,
                walk: walk
            )
            #expect(rule.decide(fault).drains == drains)
        }
    }
}
