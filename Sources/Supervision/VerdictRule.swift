public import CrashCapture
internal import Glibc

/// Decides what is done about a fault: deny by default (decision 5 of the design).
///
/// A pure function of what was captured. Safe on the crash thread: allocates nothing and takes no lock.
public struct VerdictRule: Sendable {
    /// Which faults may be resumed.
    public var policy: RecoveryPolicy
    /// What is done about those that are not: `.restart` or `.terminate`.
    public var otherwise: Verdict
    /// Whether every fault ends the process: for agents that prefer a fresh one.
    public var restartsAfterEveryFault: Bool
    /// Why nothing can be resumed in this process, or nil.
    public var obstacle: StaticString?
    /// The pid of this process.
    public var pid: CInt

    /// Makes a rule.
    public init(
        policy: RecoveryPolicy,
        otherwise: Verdict = .restart,
        restartsAfterEveryFault: Bool = false,
        obstacle: StaticString? = nil,
        pid: CInt
    ) {
        self.policy = policy
        self.otherwise = otherwise
        self.restartsAfterEveryFault = restartsAfterEveryFault
        self.obstacle = obstacle
        self.pid = pid
    }

    private static let firstPage: UInt64 = 4096

    /// Gives the verdict on a fault; `hasBudget` says whether one more may be resumed.
    public func decide(_ fault: FaultSummary, hasBudget: Bool) -> Decision {
        if fault.code <= 0, fault.sender != pid {
            return Decision(
                .terminate,
                because: "another process sent the signal: that is an order to end, not a fault"
            )
        }
        if fault.code <= 0, fault.signal != SIGABRT || fault.code != SI_TKILL {
            return deny("the process raised the signal itself, so that nothing is known of what failed")
        }
        if let obstacle { return deny(obstacle) }
        if !fault.hasRecoveryPoint { return deny("it happened outside of a callout of the loop") }
        if !fault.isMainThread { return deny("it happened on another thread than the main loop's") }
        if fault.isInTask { return deny("a Swift task was running, and would never be resumed") }
        if fault.isInCriticalSection { return deny("it happened inside a critical section") }
        if let reason = objectionToKind(of: fault) { return deny(reason) }
        if let reason = objectionToStack(of: fault) { return deny(reason) }
        if !hasBudget { return deny("the budget of faults is spent") }
        if restartsAfterEveryFault { return deny("the agent restarts after every fault") }
        return Decision(.resume, because: "only application frames lie above the recovery point")
    }

    private func deny(_ reason: StaticString) -> Decision {
        Decision(otherwise, because: reason)
    }

    private func objectionToKind(of fault: FaultSummary) -> StaticString? {
        switch fault.signal {
        case SIGILL, SIGTRAP, SIGABRT:
            return policy.resumesTraps ? nil : "the policy does not resume traps"
        case SIGFPE:
            return policy.resumesArithmeticFaults ? nil : "the policy does not resume arithmetic faults"
        case SIGSEGV where fault.isStackOverflow:
            return policy.resumesStackOverflows ? nil : "the policy does not resume stack overflows"
        case SIGSEGV where fault.code != CInt(SI_KERNEL) && fault.address < Self.firstPage:
            return policy.resumesNullAccesses ? nil : "the policy does not resume accesses to page zero"
        default:
            return policy.resumesMemoryFaults ? nil : "the policy does not resume memory faults other than of page zero"
        }
    }

    private func objectionToStack(of fault: FaultSummary) -> StaticString? {
        switch fault.walk.end {
        case .recoveryPoint: break
        case .outermost: return "the stack does not lead to the recovery point"
        case .broken: return "the stack could not be walked to the recovery point"
        }
        if fault.walk.hasForeignFrame {
            return "a library's frame lies between the application's: its lock or its invariant may be open"
        }
        let isTrap = fault.signal == SIGILL || fault.signal == SIGTRAP
        switch fault.walk.prefix {
        case .none:
            return fault.signal == SIGABRT ? "the signal came from nowhere" : nil
        case .swiftFailure:
            return isTrap || fault.signal == SIGABRT && fault.walk.hasAbort ? nil : "the Swift runtime itself faulted"
        case .swiftCode:
            return isTrap ? nil : "the Swift runtime itself faulted"
        case .ownAbort:
            return fault.signal == SIGABRT ? nil : "the C library itself faulted"
        case .foreign:
            return "it happened inside a library, whose locks may be held or whose heap may be broken"
        }
    }
}

/// `SI_TKILL` of siginfo.h: what `abort` and `raise` send.
private let SI_TKILL: CInt = -6

/// `SI_KERNEL` of siginfo.h, which Swift does not import.
private let SI_KERNEL = 128
