import Glibc

/// What a fault was, as far as its reason is concerned.
///
/// Most telling first: who sent the signal if somebody did; what nobody caught; what the runtime said; which check of the
/// compiler failed; what the kernel says about the instruction and the address.
package struct FaultReason: Sendable, Hashable {
    /// The number of the signal.
    package var signal: Int
    /// The `si_code` of the signal.
    package var code: Int
    /// The address that was accessed or executed, if the signal has one.
    package var address: HexAddress?
    /// What the access was for.
    package var access: CrashReport.Fault.Access
    /// What lies at the address, if that is known.
    package var addressKind: CrashReport.Fault.AddressKind?
    /// What the runtime or the C library said, if anything.
    package var message: String?
    /// Whether the message is the Swift runtime's, which says what failed, rather than the C library's.
    package var isRuntimeMessage: Bool
    /// Which check of the compiler failed, such as `arithmetic overflow`, if debug information says so.
    package var runtimeFailure: String?
    /// Who sent the signal, if it was sent.
    package var sender: CrashReport.Fault.Sender?
    /// The C++ exception that nobody caught, if there was one.
    package var exception: CrashReport.Fault.Exception?
    /// The process that faulted, which tells `abort` and `raise` from a signal of somebody else.
    package var pid: Int?
    /// How long the callout might run, in seconds, if it was interrupted for that.
    package var deadlineSeconds: Double?
    /// The callout, if it was in one.
    package var callout: CrashReport.LoopState.Callout?

    /// Gathers what is known about a fault.
    ///
    /// - Parameters:
    ///   - signal: The number of the signal.
    ///   - code: The `si_code` of the signal.
    ///   - address: The address that was accessed or executed, if the signal has one.
    ///   - access: What the access was for.
    ///   - addressKind: What lies at the address, if that is known.
    ///   - message: What the runtime or the C library said, if anything.
    ///   - isRuntimeMessage: Whether the message is the Swift runtime's.
    ///   - runtimeFailure: Which check of the compiler failed, if debug information says so.
    ///   - sender: Who sent the signal, if it was sent.
    ///   - exception: The C++ exception that nobody caught, if there was one.
    ///   - pid: The process that faulted.
    ///   - deadlineSeconds: How long the callout might run, if it was interrupted for that.
    ///   - callout: The callout, if it was in one.
    package init(
        signal: Int,
        code: Int,
        address: HexAddress? = nil,
        access: CrashReport.Fault.Access = .unknown,
        addressKind: CrashReport.Fault.AddressKind? = nil,
        message: String? = nil,
        isRuntimeMessage: Bool = false,
        runtimeFailure: String? = nil,
        sender: CrashReport.Fault.Sender? = nil,
        exception: CrashReport.Fault.Exception? = nil,
        pid: Int? = nil,
        deadlineSeconds: Double? = nil,
        callout: CrashReport.LoopState.Callout? = nil
    ) {
        self.signal = signal
        self.code = code
        self.address = address
        self.access = access
        self.addressKind = addressKind
        self.message = message
        self.isRuntimeMessage = isRuntimeMessage
        self.runtimeFailure = runtimeFailure
        self.sender = sender
        self.exception = exception
        self.pid = pid
        self.deadlineSeconds = deadlineSeconds
        self.callout = callout
    }

    /// What `std::terminate` leaves behind when nothing was thrown: the message of the report.
    package static let terminateWithoutException = "std::terminate was called without an exception"

    /// Whether the instruction is one that only the kernel may run.
    package var isPrivileged = false

    /// The reason in one plain line, such as `read of address 0x8 (null page)`.
    package var text: String {
        if let overdue { return overdue }
        if let sent { return sent }
        // Text in the runtime's buffer may be older than a fault that has nothing to do with it.
        if [SIGILL, SIGTRAP, SIGABRT].contains(Int32(clamping: signal)) {
            if let exception { return "uncaught C++ exception \(exception.text)".oneLine }
            if let said { return said }
            if let runtimeFailure, !runtimeFailure.isEmpty { return runtimeFailure }
        }
        return byTheKernel
    }

    private var overdue: String? {
        guard let deadlineSeconds else { return nil }
        let label = callout.map { $0.label.isEmpty ? "" : " \"\($0.label)\"" } ?? ""
        return "the callout\(label) ran for more than its deadline of \(DeadlineText.of(deadlineSeconds))".oneLine
    }

    private var name: String { SignalNames.signal(signal) }

    /// Who sent the signal, unless it was `abort`.
    private var sent: String? {
        // The kernel's own codes are positive.
        guard code <= 0 else { return nil }
        if signal == Int(SIGXFSZ), code == 0, sender != nil, sender?.pid == pid { return nil }
        if let sender, sender.pid != pid {
            return "killed by \(name) from pid \(sender.pid) (uid \(sender.uid))"
        }
        if signal == Int(SIGABRT) { return nil }
        return sender == nil ? "killed by \(name)" : "\(name) raised by the process itself"
    }

    /// What the runtime said, without the place in the source that it puts before.
    private var said: String? {
        guard let message, let line = RuntimeMessage(message) else { return nil }
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

    private var codeName: String { SignalNames.code(code, ofSignal: signal) }

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
        case "SEGV_MAPERR": (address?.rawValue ?? .max) < 4096 ? .noCode : .unmapped
        case "SEGV_ACCERR": .inaccessible
        default: nil
        }
    }

    private func accessText(kind: CrashReport.Fault.AddressKind?) -> String {
        let verb =
            switch access {
            case .read: "read of"
            case .write: "write to"
            case .execute: "jump to"
            default: "access to"
            }
        let place = address.map { "address \($0)" } ?? "an unknown address"
        return kind.map { "\(verb) \(place) (\($0.rawValue))" } ?? "\(verb) \(place)"
    }
}
