import FaultInjection
import Glibc

@testable import CrashReports

/// What must follow a fault in a connection's callout, by `VerdictRule` with the agent's policy: it resumes traps, arithmetic faults,
/// accesses to page zero and stack overflows.
struct FaultExpectation {
    let verdict: CrashReport.Verdict.Decision
    /// `si_code`.
    let code: Int
    let access: CrashReport.Fault.Access
    let addressKind: CrashReport.Fault.AddressKind?
    let exception: CrashReport.Fault.Exception?

    // signal.h and siginfo.h, which Swift imports in part.
    private static let sentToThread = -6
    private static let fromKernel = 128
    private static let notMapped = 1
    private static let notAllowed = 2

    private init(
        _ verdict: CrashReport.Verdict.Decision,
        _ code: Int,
        _ access: CrashReport.Fault.Access = .none,
        _ addressKind: CrashReport.Fault.AddressKind? = nil,
        exception: CrashReport.Fault.Exception? = nil
    ) {
        self.verdict = verdict
        self.code = code
        self.access = access
        self.addressKind = addressKind
        self.exception = exception
    }

    init(_ fault: Fault) {
        switch fault {
        // Traps of Swift code, directly or through a listed failure function: ILL_ILLOPN.
        case .nilUnwrap, .indexOutOfRange, .overflow, .precondition, .fatalError, .tryBang, .duplicateKey, .ud2:
            self.init(.resume, 2)
        // The kernel has no more to say of a breakpoint.
        case .int3: self.init(.resume, Self.fromKernel)
        // abort(3), called by the application, by assert(3), or by a listed failure function.
        case .asBang, .exclusivity, .abort, .assert: self.init(.resume, Self.sentToThread)
        // FPE_INTDIV
        case .divideByZero: self.init(.resume, 1)
        case .nullRead: self.init(.resume, Self.notMapped, .read, .noCode)
        case .nullWrite: self.init(.resume, Self.notMapped, .write, .noCode)
        case .nullCall: self.init(.resume, Self.notMapped, .execute, .noCode)
        case .stackOverflow: self.init(.resume, Self.notAllowed, .write, .stackGuard)
        // Memory faults elsewhere: what was missed may have been hit before.
        case .wildPointer: self.init(.restart, Self.notMapped, .read, .unmapped)
        case .nonCanonical: self.init(.restart, Self.fromKernel, .unknown, .nonCanonical)
        case .readOnlyWrite: self.init(.restart, Self.notAllowed, .write, .readOnly)
        case .dataJump: self.init(.restart, Self.notAllowed, .execute, .notExecutable)
        // BUS_ADRERR
        case .busPastEof: self.init(.restart, 2, .read, .pastEndOfFile)
        // abort(3), called by the allocator or by the C++ runtime: their locks and invariants are open.
        case .doubleFree, .heapSmash: self.init(.restart, Self.sentToThread)
        case .cxxException:
            self.init(
                .restart,
                Self.sentToThread,
                exception: CrashReport.Fault.Exception(
                    type: "std::runtime_error",
                    message: "an exception that nobody catches"
                )
            )
        // Nothing is known of what failed.
        case .raiseSegv: self.init(.restart, Self.sentToThread)
        }
    }
}

extension Fault {
    /// The faults of which the issue says that 99 other connections go on.
    static let named: [Fault] = [
        .nilUnwrap, .indexOutOfRange, .overflow, .precondition, .fatalError, .tryBang, .nullRead, .nullWrite,
        .divideByZero, .stackOverflow,
    ]
}
