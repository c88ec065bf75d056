import Glibc

/// What kind of fault a report is about.
extension FaultClass {
    /// Finds out what a report is about.
    ///
    /// Most telling first: who sent the signal, what nobody caught, what was said, which check failed, whose code it
    /// happened in, what the kernel says.
    init(of report: CrashReport) {
        let fault: CrashReport.Fault
        switch report.subject {
        case .fault(let subject): fault = subject
        case .stall:
            self = .stall
            return
        case .death:
            self = .death(report.death.map { "\($0.cause) \($0.scope ?? $0.subject)" } ?? "")
            return
        case .other(let kind):
            self = .other(signal: kind.rawValue)
            return
        }
        let (frames, pid) = (report.thread.frames, report.process.pid)
        let signal = Int32(clamping: fault.signal.number)
        if signal == SIGSTKFLT, fault.deadlineSeconds != nil {
            self = .deadline
            return
        }
        // The kernel sends this one in the name of the process.
        if signal == SIGXFSZ, fault.code.number == 0, fault.sender.map({ $0.pid == pid }) ?? false {
            self = .fileSize
            return
        }
        // The kernel's own codes are positive.
        if fault.code.number <= 0, signal != SIGABRT || (fault.sender.map { $0.pid != pid } ?? false) {
            let name = fault.signal.name
            self = fault.sender.map { $0.pid == pid } ?? false ? .raised(signal: name) : .sent(signal: name)
            return
        }
        switch signal {
        case SIGABRT: self = Self.abort(fault, frames)
        case SIGILL, SIGTRAP: self = Self.trap(report, fault)
        case SIGSEGV where fault.isOfPrivilegedInstruction(at: frames.first?.address): self = .privilegedInstruction
        case SIGSEGV where Self.hasLeftStack(report.thread): self = .badStackPointer
        case SIGSEGV: self = Self.segmentationFault(fault, frames)
        case SIGBUS: self = Self.busError(fault, frames)
        case SIGFPE: self = fault.code.name == "FPE_INTDIV" ? .divisionByZero : .arithmetic
        case SIGSYS: self = .forbiddenSystemCall
        case SIGXCPU: self = .processorTime
        default: self = .other(signal: fault.signal.name)
        }
    }

    private static func abort(_ fault: CrashReport.Fault, _ frames: [CrashReport.Frame]) -> FaultClass {
        if let exception = fault.exception {
            switch exception.type {
            case "std::bad_alloc": return .outOfMemory
            // What reports said before where nothing was thrown.
            case "no exception": return .cxxTerminate
            default: return .cxxException(exception.type)
            }
        }
        if fault.message == FaultReason.terminateWithoutException { return .cxxTerminate }
        if let message = fault.message, let said = FaultClass(message: message, isAbort: true) { return said }
        let outer = frames.prefix(12).compactMap(\.function)
        if outer.contains("__cxa_pure_virtual") { return .pureVirtual }
        if outer.contains(where: { $0.hasPrefix("std::terminate") }) { return .cxxTerminate }
        return .abort("")
    }

    private static func trap(_ report: CrashReport, _ fault: CrashReport.Fault) -> FaultClass {
        let frames = report.thread.frames
        if ["ILL_PRVOPC", "ILL_PRVREG"].contains(fault.code.name) { return .privilegedInstruction }
        let failure = report.runtimeFailure
        if let message = fault.message, let said = FaultClass(message: message, isAbort: false) {
            // `fatalError()` says nothing of itself.
            guard case .fatalError("") = said, let failure, !failure.isEmpty else { return said }
            return FaultClass(check: failure)
        }
        if let failure, !failure.isEmpty { return FaultClass(check: failure) }
        if fault.signal.number == Int(SIGTRAP) { return .breakpoint }
        if frames.first?.function?.hasPrefix("_dispatch_") == true {
            return isIsolationCheck(frames) ? .wrongQueue : .dispatchMisuse
        }
        // `ud2` is what both compilers trap with; the bytes tell it from code that is not code.
        guard let code = fault.instructions, let place = frames.first?.address.rawValue, place >= code.address.rawValue
        else { return .trap }
        let before = Int(clamping: place - code.address.rawValue)
        let bytes = before < 64 ? code.bytes.dropFirst(2 * before) : ""
        return bytes.isEmpty || bytes.hasPrefix("0f0b") ? .trap : .illegalInstruction
    }

    /// Whether libdispatch was asked for Swift: the runtime leaves the main actor's check to it (swift/stdlib/public/Concurrency/Actor.cpp).
    private static func isIsolationCheck(_ frames: [CrashReport.Frame]) -> Bool {
        frames.prefix(10).compactMap(\.function).contains {
            $0.hasPrefix("swift_task_isCurrentExecutor") || $0.holds("swift_task_checkIsolated")
        }
    }

    /// Whether the stack pointer lies where no stack is: mmap(2) gives nothing out that low.
    private static func hasLeftStack(_ thread: CrashReport.Thread) -> Bool {
        guard let pointer = thread.registers["rsp"] else { return false }
        return pointer.rawValue < 65536
    }

    private static func segmentationFault(_ fault: CrashReport.Fault, _ frames: [CrashReport.Frame]) -> FaultClass {
        if fault.addressKind == .stackGuard { return .stackOverflow }
        if fault.access == .execute { return fault.addressKind == .noCode ? .nullCall : .badJump }
        if isInAllocator(frames) { return .heapCorruption }
        if fault.addressKind == .noCode { return .nullPointer }
        if isOnObject(frames) { return .badObject }
        switch fault.addressKind {
        case .nonCanonical: return .nonCanonical
        case .readOnly: return .readOnly
        default: return .badAddress
        }
    }

    private static func busError(_ fault: CrashReport.Fault, _ frames: [CrashReport.Frame]) -> FaultClass {
        switch fault.code.name {
        case "BUS_ADRERR": .pastEndOfFile
        case "BUS_ADRALN": .misaligned
        case "BUS_MCEERR_AR", "BUS_MCEERR_AO": .hardwareMemory
        // A stack segment fault: the stack pointer itself is not canonical (Intel SDM volume 3, #SS).
        case "SI_KERNEL": .badStackPointer
        default: .other(signal: fault.signal.name)
        }
    }

    /// The allocator's functions follow links that lie in the memory it gave away.
    private static let allocator: Set<String> = [
        "malloc", "free", "calloc", "realloc", "cfree", "_int_malloc", "_int_free", "_int_realloc",
        "malloc_consolidate",
        "unlink_chunk", "unlink_chunk.isra.0", "unlink_chunk.constprop.0", "tcache_get", "tcache_put", "sysmalloc",
        "__libc_malloc", "__libc_free", "__libc_calloc", "__libc_realloc", "__GI___libc_malloc", "__GI___libc_free",
    ]

    private static func isInAllocator(_ frames: [CrashReport.Frame]) -> Bool {
        libraryFunctions(frames).contains(where: allocator.contains)
    }

    /// The functions of the innermost library above the program's code; not all of them have names.
    private static func libraryFunctions(_ frames: [CrashReport.Frame]) -> [String] {
        let calls = frames.prefix { !$0.isUserCode && $0.imageName == frames[0].imageName }
        return calls.prefix(8).compactMap(\.function)
    }

    /// Functions of the Swift runtime that begin by looking at an object.
    private static let objectFunctions = [
        "swift_retain", "swift_release", "_swift_retain", "_swift_release", "swift_bridgeObjectRetain",
        "swift_bridgeObjectRelease", "swift_unknownObject", "swift_getObjectType", "swift_weak", "swift_unowned",
        "swift_dynamicCastClass", "swift_isUniquelyReferenced", "swift_beginAccess", "swift::RefCounts",
    ]

    private static func isOnObject(_ frames: [CrashReport.Frame]) -> Bool {
        libraryFunctions(frames).contains { function in objectFunctions.contains(where: function.hasPrefix) }
    }
}
