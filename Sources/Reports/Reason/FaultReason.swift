import Glibc

/// What a fault was, as far as its reason is concerned.
///
/// Most telling first: who sent the signal if somebody did; what nobody caught; what the runtime said; which check of the
/// compiler failed; what the kernel says about the instruction and the address.
struct FaultReason {
    /// The fault.
    var fault: CrashReport.Fault
    /// The process that faulted, which tells `abort` and `raise` from a signal of somebody else.
    var pid: Int?
    /// The callout, if it was in one.
    var callout: CrashReport.LoopState.Callout?
    /// Which check of the compiler failed, such as `arithmetic overflow`, if debug information says so.
    var runtimeFailure: String?
    /// Whether the message is the Swift runtime's, which says what failed, rather than the C library's.
    var isRuntimeMessage = false
    /// Whether the instruction is one that only the kernel may run.
    var isPrivileged = false

    /// What `std::terminate` leaves behind when nothing was thrown: the message of the report.
    static let terminateWithoutException = "std::terminate was called without an exception"

    private var signal: Int { fault.signal.number }
    private var code: Int { fault.code.number }
    private var codeName: String { fault.code.name }
    private var addressKind: CrashReport.Fault.AddressKind? { fault.addressKind }

    /// The reason in one plain line, such as `read of address 0x8 (null page)`.
    var text: String {
        if let overdue { return overdue }
        if let sent { return sent }
        // Text in the runtime's buffer may be older than a fault that has nothing to do with it.
        if [SIGILL, SIGTRAP, SIGABRT].contains(Int32(clamping: signal)) {
            if let exception = fault.exception { return "uncaught C++ exception \(exception.text)".oneLine }
            if let said { return said }
            if let runtimeFailure, !runtimeFailure.isEmpty { return runtimeFailure }
        }
        return byTheKernel
    }

    private var overdue: String? {
        guard let deadlineSeconds = fault.deadlineSeconds else { return nil }
        let label = callout.map { $0.label.isEmpty ? "" : " \"\($0.label)\"" } ?? ""
        return
            "the callout\(label) ran for more than its deadline of \(CrashReport.Stall.text(seconds: deadlineSeconds))"
            .oneLine
    }

    private var name: String { fault.signal.name }

    /// Who sent the signal, unless it was `abort`.
    private var sent: String? {
        // The kernel's own codes are positive.
        guard code <= 0 else { return nil }
        if signal == Int(SIGXFSZ), code == 0, let sender = fault.sender, sender.pid == pid { return nil }
        if let sender = fault.sender, sender.pid != pid {
            return "killed by \(name) from pid \(sender.pid) (uid \(sender.uid))"
        }
        if signal == Int(SIGABRT) { return nil }
        return fault.sender == nil ? "killed by \(name)" : "\(name) raised by the process itself"
    }

    /// What the runtime said, without the place in the source that it puts before.
    private var said: String? {
        guard let message = fault.message, let line = RuntimeMessage(message) else { return nil }
        if message == Self.terminateWithoutException { return message }
        if let error = line.fatalError { return error.isEmpty ? runtimeFailure ?? "fatal error" : error }
        if let check = line.failedCheck { return check }
        return signal == Int(SIGABRT) && !isRuntimeMessage ? "abort: \(line.text)" : line.text
    }

    private var byTheKernel: String {
        switch Int32(clamping: signal) {
        case SIGSEGV: segmentationFault
        case SIGBUS: busError
        case SIGFPE: arithmeticFault
        case SIGILL: ["ILL_PRVOPC", "ILL_PRVREG"].contains(codeName) ? "privileged instruction" : "illegal instruction"
        case SIGTRAP: trap
        case SIGABRT: "abort"
        case SIGSYS: "forbidden system call"
        case SIGXCPU: "the processor time of the process is over (RLIMIT_CPU)"
        case SIGXFSZ: "a file was to grow beyond the limit of the process (RLIMIT_FSIZE)"
        default: "\(name) (\(codeName))"
        }
    }

    private var segmentationFault: String {
        if addressKind == .stackGuard { return "stack overflow" }
        if isPrivileged { return "privileged instruction" }
        if codeName == "SI_KERNEL" {
            return addressKind == .nonCanonical
                ? "access to a non-canonical address"
                : "general protection fault (a non-canonical address or a privileged instruction)"
        }
        return accessText(kind: addressKind ?? assumedKind)
    }

    private var busError: String {
        switch codeName {
        case "BUS_ADRALN": "misaligned \(accessText(kind: addressKind))"
        case "BUS_ADRERR" where addressKind == nil || addressKind == .pastEndOfFile:
            "bus error past the end of a mapped file"
        case "BUS_ADRERR": "bus error: \(accessText(kind: addressKind))"
        case "BUS_MCEERR_AR", "BUS_MCEERR_AO": "memory error of the hardware"
        default: "bus error (\(codeName))"
        }
    }

    private var arithmeticFault: String {
        switch codeName {
        case "FPE_INTDIV": "division by zero"
        case "FPE_INTOVF": "integer overflow"
        case "FPE_FLTDIV": "floating-point division by zero"
        default: "arithmetic fault (\(codeName))"
        }
    }

    private var trap: String {
        switch codeName {
        // An `int3` has the code of the kernel.
        case "TRAP_BRKPT", "SI_KERNEL": "breakpoint trap"
        case "TRAP_TRACE": "single-step trap"
        case "TRAP_HWBKPT": "hardware breakpoint"
        default: "trap (\(codeName))"
        }
    }

    /// What the code alone says about the address.
    private var assumedKind: CrashReport.Fault.AddressKind? {
        switch codeName {
        case "SEGV_MAPERR": (fault.address?.rawValue ?? .max) < 4096 ? .noCode : .unmapped
        case "SEGV_ACCERR": .inaccessible
        default: nil
        }
    }

    private func accessText(kind: CrashReport.Fault.AddressKind?) -> String {
        let verb =
            switch fault.access {
            case .read: "read of"
            case .write: "write to"
            case .execute: "jump to"
            default: "access to"
            }
        let place = fault.address.map { "address \($0)" } ?? "an unknown address"
        return kind.map { "\(verb) \(place) (\($0.rawValue))" } ?? "\(verb) \(place)"
    }
}
