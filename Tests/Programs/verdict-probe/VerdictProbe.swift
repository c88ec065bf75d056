import AllocationCounter
import CrashCapture
import Glibc
import Holdfast

/// A program that counts what the allocator does while verdicts are given: `verdict-probe SCENARIO`.
///
/// Nothing is done beforehand but to make the supervisor: the first fault of a process must not allocate, either. Writes the
/// number of verdicts that were not as expected, then those of allocations, reallocations, frees and looked-up types, in one line, and
/// where the first came from to the standard error.
@main
enum VerdictProbe {
    static func main() throws {
        if CommandLine.arguments.dropFirst() == ["sample"] { try SampleProbe.run(origin: .swift) }
        if CommandLine.arguments.dropFirst() == ["sample-pending"] { try SampleProbe.run(origin: .pending) }
        guard CommandLine.arguments.count == 2, let scenario = Scenario(rawValue: CommandLine.arguments[1]) else {
            exit(64)
        }
        let (count, wrong) = try scenario.play()
        print(wrong, count.allocations, count.reallocations, count.frees, count.lookups)
        hf_allocation_count_print_origins()
    }
}

/// What the control allocates: looked at afterwards, or it would be optimised away.
nonisolated(unsafe) private var kept: UnsafeMutableRawPointer?

/// What the verdicts are about.
enum Scenario: String {
    case control
    case resumed
    case denied
    case otherThreads = "other-threads"
    case sent
    case stopping
    case items
    case itemBudget = "item-budget"
    case quarantine
    case policies
    case objection
    case posts
    case overdue

    private var quarantinePolicy: QuarantinePolicy? {
        self == .quarantine ? QuarantinePolicy(times: .none) : nil
    }

    private var policy: RecoveryPolicy {
        self == .objection ? .default.objecting { $0.item % 2 == 1 ? "odd" : nil } : .default
    }

    private var budget: FaultBudget {
        switch self {
        case .itemBudget: FaultBudget(perProcess: .max, perWindow: .max, perItem: 1)
        case .quarantine: FaultBudget(perProcess: .max, perWindow: .max, perItem: 2)
        default: .generous
        }
    }

    /// Gives a thousand verdicts; returns what the allocator did, and how many verdicts were wrong.
    func play() throws -> (HFAllocationCount, Int) {
        let supervisor = try Supervisor(
            rule: VerdictRule(policy: policy, pid: getpid()),
            budget: budget,
            quarantine: quarantinePolicy
        )
        // As the crash thread does before the first verdict.
        supervisor.warmUp()
        if self == .policies {
            for item in 1...500 as ClosedRange<UInt64> { supervisor.policies.set(.never, forItem: item) }
        }
        supervisor.isStopping = self == .stopping
        var wrong = 0
        var number: UInt64 = 0
        hf_allocation_count_begin()
        // Not over a range: without optimisation that looks types up, which would be the probe's own doing.
        while number < 1000 {
            number += 1
            if !isRight(supervisor, number) { wrong += 1 }
        }
        let count = hf_allocation_count_end()
        if self == .control, kept == nil { wrong += 1 }
        return (count, wrong)
    }

    /// Gives one verdict, and says whether it was the right one.
    private func isRight(_ supervisor: Supervisor, _ number: UInt64) -> Bool {
        var fault = FaultSummary(signal: SIGILL, code: 2, item: number)
        switch self {
        case .control:
            if number == 500 { kept = malloc(1) }
            return supervisor.decide(fault).verdict == .resume
        case .resumed, .items:
            if self == .resumed { fault.item = 7 }
            return supervisor.decide(fault).verdict == .resume
        case .denied:
            fault.holdsLock = true
            return supervisor.decide(fault).verdict == .restart
        case .otherThreads:
            fault.isMainThread = false
            fault.hasRecoveryPoint = false
            // Only where somebody serves the main loop.
            supervisor.isServed = number % 2 == 1
            return supervisor.decide(fault).drains == (number % 2 == 1)
        case .sent:
            fault.code = 0
            fault.sender = 1
            return supervisor.decide(fault).verdict == .terminate
        case .stopping:
            return supervisor.decide(fault).verdict == .terminate
        case .itemBudget:
            // Even: odd ones are the host's own, which have no budget.
            fault.item = 2 * (1 + (number - 1) / 2)
            return (supervisor.decide(fault).verdict == .resume) == (number % 2 == 1)
        case .quarantine:
            // Two faults each: the second takes the item out, and it is put back at once, which makes room.
            fault.item = 2 * (1 + (number - 1) / 2)
            let decision = supervisor.decide(fault)
            if number % 2 == 0 { supervisor.forgive(item: fault.item) }
            return decision.verdict == .resume && decision.quarantines == (number % 2 == 0)
        case .policies:
            return (supervisor.decide(fault).verdict == .resume) == (number > 500)
        case .objection:
            return (supervisor.decide(fault).verdict == .resume) == (number % 2 == 0)
        case .overdue:
            fault.signal = SIGSTKFLT
            fault.isOverdue = true
            fault.holdsLock = number % 2 == 0
            let mayBe = supervisor.mayAbandon(fault)
            return mayBe == (number % 2 == 1) && (supervisor.decide(fault).verdict == .resume) == mayBe
        case .posts:
            let verdict = supervisor.decide(fault).verdict
            supervisor.post(resumed: fault, thread: 1)
            supervisor.noteCost(bytes: 4096)
            return verdict == .resume
        }
    }
}
