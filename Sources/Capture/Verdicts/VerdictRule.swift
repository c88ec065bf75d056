internal import Glibc

/// Decides what is done about a fault, deny by default: it resumes a fault only if every condition allows it.
///
/// A pure function of what was captured and of the circumstances. Safe on the crash thread: it allocates nothing and takes no lock.
package struct VerdictRule: Sendable {
    /// What the rule needs to know beside the fault itself.
    package struct Circumstances: Sendable {
        /// The policy of the item whose callout faulted; nil for the rule's own.
        package var policy: RecoveryPolicy?
        /// Which budget is spent, in words; nil if one more fault may be resumed.
        package var spent: StaticString?
        /// Whether the run of the host is over, so that the process is about to end anyway.
        package var isStopping: Bool

        /// Makes circumstances.
        package init(policy: RecoveryPolicy? = nil, spent: StaticString? = nil, isStopping: Bool = false) {
            self.policy = policy
            self.spent = spent
            self.isStopping = isStopping
        }
    }

    /// Which faults may be resumed.
    package var policy: RecoveryPolicy
    /// What is done about faults that are not resumed: `.restart` or `.terminate`.
    package var otherwise: Verdict
    /// Why nothing can be resumed in this process, or nil.
    package var obstacle: StaticString?
    /// The pid of this process.
    package var pid: CInt

    /// Makes a rule.
    package init(
        policy: RecoveryPolicy,
        otherwise: Verdict = .restart,
        obstacle: StaticString? = nil,
        pid: CInt
    ) {
        self.policy = policy
        self.otherwise = otherwise
        self.obstacle = obstacle
        self.pid = pid
    }

    private static let firstPage: UInt64 = 4096

    /// Gives the verdict on a fault.
    package func decide(_ fault: FaultSummary, in circumstances: Circumstances = Circumstances()) -> Decision {
        if let end = end(of: fault, isStopping: circumstances.isStopping) { return end }
        let policy = circumstances.policy ?? policy
        if let reason = objectionBeforeWalk(to: fault, policy) { return deny(fault, because: reason) }
        if let reason = objectionToStack(of: fault) { return deny(fault, because: reason) }
        if fault.foundNoRoom {
            return deny(fault, because: "reports cannot be written in time: there is no room for the next record")
        }
        if let reason = circumstances.spent { return deny(fault, because: reason) }
        if let reason = policy.objection?(fault) { return deny(fault, because: reason) }
        return Decision(.resume, because: "only application frames lie above the recovery point")
    }

    /// Whether a fault may have its verdict before its stack is walked: no other thread is drained for, and nothing ends the process.
    package func mayDecideBeforeWalk(_ fault: FaultSummary, isStopping: Bool) -> Bool {
        fault.isMainThread && fault.hasRecoveryPoint && otherwise != .terminate
            && end(of: fault, isStopping: isStopping) == nil
    }

    /// The verdict on such a fault if it is to restart the process whatever the stack shows; nil if that depends on the stack.
    ///
    /// Not for a job of the main queue: only the stack tells an error of an async main that nobody caught.
    package func decideBeforeWalk(_ fault: FaultSummary, in circumstances: Circumstances) -> Decision? {
        guard mayDecideBeforeWalk(fault, isStopping: circumstances.isStopping) else { return nil }
        let reason = objectionBeforeWalk(to: fault, circumstances.policy ?? policy) ?? circumstances.spent
        return reason.map { Decision(.restart, because: $0) }
    }

    /// A verdict that ends the process whatever the policy says, by the fault alone.
    package func end(of fault: FaultSummary, isStopping: Bool) -> Decision? {
        if isSent(fault), fault.sender != pid {
            // Even SIGABRT: a watchdog ends by it what hangs (WatchdogSignal= of systemd.service(5)).
            return Decision(
                .terminate,
                because: "another process sent the signal: that is an order to end, not a fault"
            )
        }
        if fault.signal == SIGXCPU {
            return Decision(
                .terminate,
                because: "the processor time that the process may use is over, which a restart would not change"
            )
        }
        // A process that was told to end must not come back. What is left of its requests may still be served: they need no run.
        if isStopping, !fault.isInJob {
            return Decision(.terminate, because: "the run of the host is over: the process is ending, not restarted")
        }
        if fault.walk.isUncaughtError {
            return Decision(
                .terminate,
                because: "the program has ended by an error that nobody caught, which a restart would meet again"
            )
        }
        if fault.isExiting {
            return Decision(.terminate, because: "the process has called exit: it ends, and is not restarted")
        }
        return nil
    }

    /// `SI_FROMUSER` of the kernel's siginfo.h: not raised by the kernel itself.
    private func isSent(_ fault: FaultSummary) -> Bool { fault.code <= 0 }

    private func deny(_ fault: FaultSummary, because reason: StaticString) -> Decision {
        switch otherwise {
        case .terminate: Decision(.terminate, because: reason)
        // A denied fault is never resumed, whatever the rule was made with.
        case .restart, .resume: Decision(.restart, because: reason, drains: canDrain(fault))
        }
    }

    /// Whether the main loop may serve what it has before the restart: another thread stands still, and the heap and the runtime are
    /// probably whole.
    private func canDrain(_ fault: FaultSummary) -> Bool {
        // With an obstacle, frames of the runtime may look like the application's.
        guard !fault.isMainThread, obstacle == nil else { return false }
        // Other threads can see data that a critical section leaves half changed. They cannot see data that a held lock protects.
        if fault.isInCriticalSection { return false }
        if case .broken = fault.walk.end { return false }
        // A library that called back may hold what the main loop needs: the loader's lock made it wait for the whole deadline.
        if fault.walk.isInsideLibrary { return false }
        switch fault.walk.prefix {
        case .none, .swiftFailure, .ownAbort, .waiting: return true
        // If the standard library traps, a precondition of the caller failed. Any other fault there is the runtime's own.
        case .swiftCode: return fault.signal == SIGILL || fault.signal == SIGTRAP
        case .foreign: return false
        }
    }

    private func objectionBeforeWalk(to fault: FaultSummary, _ policy: RecoveryPolicy) -> StaticString? {
        if let reason = objectionToOrigin(of: fault) { return reason }
        if let reason = objectionToPlace(of: fault, policy) { return reason }
        return objectionToKind(of: fault, policy)
    }

    private func objectionToOrigin(of fault: FaultSummary) -> StaticString? {
        if fault.signal == SIGSYS { return "a forbidden system call was made: what else is forbidden is not known" }
        // The kernel sends it in the name of the process (mm/filemap.c: send_sig).
        if fault.signal == SIGXFSZ { return "a file was to grow beyond what the process may write" }
        if isSent(fault), !fault.isOverdue, fault.signal != SIGABRT || fault.code != SI_TKILL {
            return "the process raised the signal itself, so that nothing is known of what failed"
        }
        return obstacle
    }

    private func objectionToPlace(of fault: FaultSummary, _ policy: RecoveryPolicy) -> StaticString? {
        if !fault.hasRecoveryPoint { return "it happened outside of a callout of the loop and of a fault boundary" }
        if fault.isCalloutUnreadable {
            return "what the loop says of the callout could not be read, so its policy is not known"
        }
        if fault.isIsolated {
            return "the job was isolated to an actor, or it is not known to what: the actor would stay locked for ever"
        }
        // Who calls a boundary has asked for it.
        if !fault.isMainThread, !fault.isInJob, !policy.resumesOtherLoops {
            return "the policy does not resume callouts of loops on another thread than the main one"
        }
        if fault.isInTask { return "a Swift task was running, and would never be resumed" }
        if fault.isInCriticalSection { return "it happened inside a critical section" }
        if fault.holdsLock { return "a lock that the callout took is still held" }
        if fault.isInLockFrame {
            return fault.isProgramUnread
                ? "whether a function holds a lock cannot be told: the program's file, or its debug information, could not be read"
                : "it happened inside a function that holds a lock"
        }
        if fault.hasOpenRuntimeState {
            return "a task-local value or a C++ exception cannot be put back to what it was before the callout"
        }
        if fault.isInInitialiser {
            return "it happened in the initialiser of a thread-local variable, which would count as made"
        }
        return nil
    }

    private func objectionToKind(of fault: FaultSummary, _ policy: RecoveryPolicy) -> StaticString? {
        if fault.isOverdue {
            return policy.abandonsOverdueCallouts ? nil : "the policy does not abandon callouts that take too long"
        }
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
        if fault.walk.hasNativeFrame {
            return
                "a C or C++ function of the executable lies between Swift functions: its invariant may be open (see trustedModules)"
        }
        if fault.walk.hasUnknownFrame {
            return fault.isProgramUnread
                ? "Swift functions cannot be told from those of a C library: the program's file, or its debug information, could not be read"
                : "the program has no symbols by which Swift functions could be told from those of a C library"
        }
        if fault.isOverdue { return objectionToInterrupted(fault.walk.prefix) }
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
        case .foreign, .waiting:
            return "it happened inside a library, whose locks may be held or whose heap may be broken"
        }
    }

    /// A callout that takes too long may be stopped in its own code, or in a call that asks the kernel to wait: there it holds nothing.
    private func objectionToInterrupted(_ prefix: FaultSummary.Walk.Prefix) -> StaticString? {
        switch prefix {
        case .none, .waiting: nil
        case .swiftFailure, .swiftCode: "it was interrupted inside the Swift runtime, whose locks may be held"
        case .ownAbort, .foreign: "it was interrupted inside a library, whose locks may be held"
        }
    }
}

/// `SI_TKILL` of siginfo.h: what `abort` and `raise` send.
private let SI_TKILL: CInt = -6

/// `SI_KERNEL` of siginfo.h, which Swift does not import.
private let SI_KERNEL = 128
