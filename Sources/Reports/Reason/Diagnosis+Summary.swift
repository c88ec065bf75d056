internal import LinuxSystem

/// One line for every class of fault.
extension FaultPlace {
    func summary(of fault: FaultClass) -> String {
        if let stall = report.stall { return summary(of: stall) }
        if report.kind == .death, let death = report.death { return death.sentence }
        return switch fault {
        case .nilUnwrap: "A value that the code takes for granted was missing (an optional was nil), \(inFunction)."
        case .indexOutOfRange: "The code asked a collection for an element that it does not have, \(inFunction)."
        case .overflow: "A calculation gave a number that is too large or too small for its type, \(inFunction)."
        case .divisionByZero: "A number was divided by zero, \(inFunction)."
        case .conversion: "A number does not fit the type that it was converted to, \(inFunction)."
        case .invalidRange: "A range was made whose end lies before its start, \(inFunction)."
        case .duplicateKey: "A dictionary or a set was given the same key twice, \(inFunction)."
        case .failedCast(let from, let to):
            "A value of type \(from) was taken for a \(to), which it is not (a forced cast), \(inFunction)."
        case .tryBang(let error):
            "An error that was declared impossible (try!) was thrown\(error.isEmpty ? "" : ", a \(error)"), \(inFunction)."
        case .unownedReference: "An object was used after it was gone (an unowned reference), \(inFunction)."
        case .escapedDeinit: "An object was kept by somebody while it was being destroyed, \(inFunction)."
        case .exclusivity: "A variable was changed while it was already being changed or read, \(inFunction)."
        case .precondition(let text): "A condition that the code relies on did not hold\(said(text)), \(inFunction)."
        case .assertion(let text): "An assertion did not hold\(said(text)), \(inFunction)."
        case .fatalError(let text): "The code gave up on purpose (fatalError)\(said(text)), \(inFunction)."
        case .uncaughtError(let error): "An error that nobody caught has ended the program: \(error.quotedBriefly)."
        case .wrongQueue where isOfMainActor:
            "Code that belongs to the main actor ran on another thread than the main one, \(inFunction)."
        case .wrongExecutor, .wrongQueue: "Code that belongs to one actor or thread ran on another, \(inFunction)."
        case .continuationMisuse: "A continuation was resumed twice, or in a way that is not allowed, \(inFunction)."
        case .check(let text): "A check of Swift failed\(said(text)), \(inFunction)."
        case .trap where !isSwift:
            "The code gave up on purpose or came to a place that it rules out (a trap), \(inFunction)."
        case .trap:
            "A check failed or code was reached that must not be reached; an optimised build does not say which, \(inFunction)."
        case .cAssertion(let text): "An assertion of C code did not hold\(said(text)), \(inFunction)."
        case .doubleFree: "The same memory was freed twice; it was noticed \(inFunction)."
        case .heapCorruption:
            "The memory allocator found its own notes overwritten; it was noticed \(inFunction), which need not be the cause."
        case .stackSmash: "A function wrote past the end of a variable on its stack; it was noticed \(inFunction)."
        case .bufferOverflow: "A function of the C library would have written past the end of a buffer, \(inFunction)."
        case .cxxException(let type):
            "A C++ exception of type \(type) was thrown and nobody caught it\(exceptionText), \(inFunction)."
        case .cxxTerminate: "C++ code called std::terminate, \(inFunction)."
        case .pureVirtual: "A C++ method was called on an object that was being made or destroyed, \(inFunction)."
        case .dispatchMisuse:
            "A dispatch queue or a dispatch object was used in a way that is not allowed, \(inFunction)."
        case .outOfMemory: "Memory was asked for that the system did not give, \(inFunction)."
        case .abort(let text): "The code gave up on purpose (abort)\(said(text)), \(inFunction)."
        case .nullPointer:
            "A null pointer was used\(memberOffset): the code \(accessed) \(address), \(inCall)."
        case .nullCall: "A function was called through a null pointer, \(inCall)."
        case .badJump: "The program jumped to \(address), which is no code, \(inCall)."
        case .stackOverflow: "\(stack.capitalizedFirst) is used up: \(recursion)."
        case .badStackPointer:
            "The stack pointer itself was wrong, so the stack was overwritten or never set up, \(inCall)."
        case .badObject: "A reference did not lead to an object (it was freed or overwritten), \(inCall)."
        case .nonCanonical:
            "A pointer had a value that no address has (it was overwritten, or is no pointer), \(inCall)."
        case .readOnly: "The code wrote to \(address), which may not be written, \(inCall)."
        case .badAddress: "A pointer led nowhere: the code \(accessed) \(address), \(inCall)."
        case .pastEndOfFile:
            "A mapped file\(mappedFile) is shorter than its mapping: it was cut while it was in use, and read or written past its end, "
                + "\(inCall)."
        case .misaligned:
            "Memory was accessed at an address that is not a multiple of what the processor asks for, \(inCall)."
        case .hardwareMemory: "The memory of this machine is defective at \(address)."
        case .illegalInstruction: "The program came to bytes that are no instruction of this processor, \(inFunction)."
        case .privilegedInstruction: "The program came to an instruction that only the kernel may run, \(inFunction)."
        case .breakpoint: "The program came to a breakpoint, and no debugger was there, \(inFunction)."
        case .arithmetic: "A calculation failed in the processor (\(codeName)), \(inFunction)."
        case .forbiddenSystemCall:
            "The process made a system call that it may not make\(systemCall), \(inFunction)."
        case .processorTime:
            "The process has used the processor time that it may use (RLIMIT_CPU); nothing is known to be wrong \(inFunction)."
        case .fileSize:
            "A file was to grow beyond what the process may write (RLIMIT_FSIZE), \(inFunction)."
        case .deadline:
            "A callout\(calloutName) ran for longer than its deadline of "
                + "\(CrashReport.Stall.text(seconds: report.fault?.deadlineSeconds ?? 0)); it was interrupted \(inCall)."
        case .sent where endOfHang != nil:
            (endOfHang?.sentence ?? "") + (report.thread.isMain ? " Its main thread was \(inFunction)." : "")
        case .sent(let signal):
            "\(sender) ended the process with \(signal); nothing is known to be wrong \(inFunction)."
        case .raised(let signal): "The process sent itself \(signal), \(inFunction)."
        default:
            report.fault == nil
                ? "This version does not know what “\(report.kind.rawValue)” is; look \(inFunction)."
                : "The process got \(signalName) (\(codeName)), \(inFunction)."
        }
    }

    /// What its supervisor says, if that ended it because it hung: then the signal that it got says less.
    var endOfHang: CrashReport.Death? {
        report.death.flatMap { ["watchdog", "probe", "start timeout"].contains($0.cause) ? $0 : nil }
    }

    private var codeName: String { report.fault?.code.name ?? "" }

    private var calloutName: String { report.loop?.callout.map { " of the \($0.words)" } ?? "" }

    private var isOfMainActor: Bool {
        report.thread.frames.prefix(10).contains { $0.function?.holds("MainActor.") ?? false }
    }

    /// What the code said, if anything.
    private func said(_ text: String) -> String {
        text.isEmpty ? "" : ": \(text.quotedBriefly)"
    }

    private var exceptionText: String {
        report.fault?.exception?.message.map { ": \($0.quotedBriefly)" } ?? ""
    }

    /// Other than zero, the address is the distance of a member from the start of what is not there.
    private var memberOffset: String {
        guard let address = report.fault?.address?.rawValue, address > 0, address < 4096 else { return "" }
        return " to reach a part of something that is not there, \(address) bytes into it"
    }

    /// Which system call it was: a filter leaves its number where the process had put it (seccomp(2), SECCOMP_RET_TRAP).
    private var systemCall: String {
        guard report.host.architecture == "x86_64", let number = report.thread.registers["rax"]?.rawValue,
            let name = SystemCallNames.name(Int(clamping: number))
        else { return "" }
        return " (\(name))"
    }

    private var mappedFile: String {
        guard let mapping = report.fault?.mapping, mapping.place == .inside, !mapping.name.isEmpty else { return "" }
        return " (\(mapping.name))"
    }

    private var recursion: String {
        guard let cycle = RecursionCycle(report.thread.frames) else {
            return "\(location) needed more than was left"
        }
        let names = cycle.functions.prefix(4).joined(separator: ", ")
        let more = cycle.functions.count > 4 ? " and \(cycle.functions.count - 4) more" : ""
        return cycle.functions.count == 1
            ? "\(names) calls itself without end" : "\(names)\(more) call each other without end"
    }

    /// Who sent the signal, as far as it is known.
    var sender: String {
        guard let sender = report.fault?.sender else { return "Somebody" }
        let name = sender.name.map { " \($0.quotedBriefly)" } ?? ""
        if sender.pid == 1 { return "The service manager\(name) (pid 1)" }
        if sender.pid == report.process.parentPid { return "The parent process\(name) (pid \(sender.pid))" }
        return "Process \(sender.pid)\(name) of user \(sender.uid)"
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
