internal import CFaultInjection
internal import Glibc

/// A fault at a moment that a careless resume would not survive: a lock is held, a library or a container is half way through,
/// another thread looks on, or the stack itself is gone.
///
/// For the fault matrix. The agent commits only a `Fault`.
public enum Hazard: String, CaseIterable, Sendable {
    // Swift, in SwiftHazards.swift
    /// Traps in a modify access to a property.
    case inoutAccess = "inout-access"
    /// Traps in a deinitializer.
    case deinitializer
    /// Traps in a `defer`.
    case deferred
    /// Traps in the initializer of a global variable.
    case lazyGlobal = "lazy-global"
    /// Overflows the stack while the metadata of an endless generic type is made.
    case genericMetadata = "generic-metadata"
    /// Uses an unowned reference to an object that is gone.
    case unownedReference = "unowned-reference"
    /// Traps in a closure that sorts.
    case sortComparator = "sort-comparator"
    /// Traps while a value of a dictionary is changed in place.
    case dictionaryModify = "dictionary-modify"
    /// Prints a value whose description traps.
    case printDescription = "print-description"

    // Locks, in SwiftHazards.swift and library_faults.c
    /// Traps inside `Mutex.withLock`.
    case mutex
    /// Traps inside `DispatchQueue.sync`.
    case queueSync = "queue-sync"
    /// Faults while a pthread mutex is held.
    case pthreadMutex = "pthread-mutex"
    /// Faults while a pthread readers-writer lock is held.
    case pthreadRwlock = "pthread-rwlock"
    /// Faults while the standard output is locked.
    case stdioLock = "stdio-lock"
    /// Faults while the loader's lock is held.
    case loaderLock = "loader-lock"
    /// Faults inside malloc, under its lock.
    case mallocLock = "malloc-lock"

    // Libraries and the stack, in library_faults.c, memory_faults.c and cxx_faults.cpp
    /// Faults in a function that the C library calls back.
    case qsortComparator = "qsort-comparator"
    /// Ends as an overwritten stack protector does.
    case stackSmash = "stack-smash"
    /// Calls `std::terminate`.
    case cxxTerminate = "cxx-terminate"
    /// Recurses and allocates until the stack is used up.
    case allocatingOverflow = "allocating-overflow"
    /// Faults while another thread reads the frame.
    case watchedFrame = "watched-frame"
    /// Pushes with a stack pointer that is just above page zero.
    case garbageStackPointer = "garbage-stack-pointer"
    /// Pushes with a stack pointer that the processor does not accept.
    case nonCanonicalStackPointer = "non-canonical-stack-pointer"

    // Between Swift and C, in SwiftHazards.swift, library_faults.c and cxx_faults.cpp
    /// Traps in a closure that a C library in the executable calls.
    case cCallback = "c-callback"
    /// Faults in the initialiser of a static variable of a C++ function.
    case staticInitializer = "static-initializer"
    /// Faults while a C++ exception is being handled.
    case exceptionState = "exception-state"
    /// Traps while a task-local has a value, outside of a task.
    case taskLocal = "task-local"
    /// Traps between `lock` and `unlock` of Foundation's `NSConditionLock`.
    case conditionLock = "condition-lock"

    // Other signals, and circumstances, in system_faults.c
    /// Faults while all signals are blocked.
    case maskedSignals = "masked-signals"
    /// Faults where seccomp forbids to read memory by process_vm_readv.
    case unreadableMemory = "unreadable-memory"
    /// Makes a system call that seccomp answers with a signal.
    case forbiddenCall = "forbidden-call"
    /// Runs until the limit of processor time is reached.
    case processorTime = "processor-time"
    /// Writes beyond the largest size of a file.
    case fileSize = "file-size"
}

extension Hazard {
    /// What it does and how it is signalled, the signal that it ends in on x86-64, and the function that commits it.
    private var facts: Cause.Facts {
        switch self {
        case .inoutAccess: ("traps while a property is being modified (trap)", SIGILL, faultInoutAccess)
        case .deinitializer: ("traps in a deinitializer (trap)", SIGILL, faultDeinitializer)
        case .deferred: ("traps in a defer (trap)", SIGILL, faultDeferred)
        case .lazyGlobal: ("traps in the initializer of a global variable (trap)", SIGILL, faultLazyGlobal)
        case .genericMetadata:
            (
                "overflows the stack in the runtime, which makes the metadata of an endless type (SIGSEGV)", SIGSEGV,
                faultGenericMetadata
            )
        case .unownedReference:
            ("uses an unowned reference to an object that is gone (SIGABRT)", SIGABRT, faultUnownedReference)
        case .sortComparator: ("traps in a closure that sorts an array (trap)", SIGILL, faultSortComparator)
        case .dictionaryModify:
            ("traps while a value of a dictionary is changed in place (trap)", SIGILL, faultDictionaryModify)
        case .printDescription: ("prints a value whose description traps (trap)", SIGILL, faultPrintDescription)
        case .mutex: ("traps inside Mutex.withLock (trap)", SIGILL, faultMutex)
        case .queueSync: ("traps inside DispatchQueue.sync (trap)", SIGILL, faultQueueSync)
        case .pthreadMutex: ("holds a mutex of the POSIX threads library (SIGILL)", SIGILL, faultPthreadMutex)
        case .pthreadRwlock:
            ("holds a readers-writer lock of the POSIX threads library (SIGILL)", SIGILL, faultPthreadRwlock)
        case .stdioLock: ("holds the lock of the standard output (SIGILL)", SIGILL, faultStdioLock)
        case .loaderLock:
            ("holds the loader's lock, in a callback of dl_iterate_phdr (SIGILL)", SIGILL, faultLoaderLock)
        case .mallocLock: ("makes malloc follow a bad link under its lock (SIGSEGV)", SIGSEGV, faultMallocLock)
        case .qsortComparator: ("faults in a function that qsort calls (SIGILL)", SIGILL, faultQsortComparator)
        case .stackSmash: ("ends as an overwritten stack protector does (SIGABRT)", SIGABRT, faultStackSmash)
        case .cxxTerminate: ("calls std::terminate (SIGABRT)", SIGABRT, faultCxxTerminate)
        case .allocatingOverflow:
            ("recurses and allocates until the stack is used up (SIGSEGV)", SIGSEGV, faultAllocatingOverflow)
        case .watchedFrame:
            ("faults while another thread reads an array of the frame (SIGILL)", SIGILL, faultWatchedFrame)
        case .garbageStackPointer:
            ("pushes with a stack pointer just above page zero (SIGSEGV)", SIGSEGV, faultGarbageStackPointer)
        case .nonCanonicalStackPointer:
            (
                "pushes with a stack pointer that the processor does not accept (SIGBUS)", SIGBUS,
                faultNonCanonicalStackPointer
            )
        case .cCallback: ("traps in a closure that a C library of the executable calls (trap)", SIGILL, faultCCallback)
        case .staticInitializer:
            (
                "faults in the initialiser of a static variable of a C++ function (SIGILL)", SIGILL,
                faultStaticInitializer
            )
        case .exceptionState: ("faults while a C++ exception is being handled (SIGILL)", SIGILL, faultExceptionState)
        case .taskLocal: ("traps while a task-local has a value, outside of a task (trap)", SIGILL, faultTaskLocal)
        case .conditionLock: ("traps between lock and unlock of an NSConditionLock (trap)", SIGILL, faultConditionLock)
        case .maskedSignals: ("faults while all signals are blocked (SIGILL)", SIGILL, faultMaskedSignals)
        case .unreadableMemory:
            ("faults where seccomp forbids process_vm_readv (SIGILL)", SIGILL, faultUnreadableMemory)
        case .forbiddenCall:
            ("makes a system call that seccomp answers with a signal (SIGSYS)", SIGSYS, faultForbiddenCall)
        case .processorTime:
            ("runs until the limit of processor time is reached (SIGXCPU)", SIGXCPU, faultProcessorTime)
        case .fileSize: ("writes to a file beyond the largest size (SIGXFSZ)", SIGXFSZ, faultFileSize)
        }
    }

    /// One line that says what the hazard does and how it is signalled.
    public var summary: String { facts.summary }

    /// The number of the signal that the hazard ends in, on x86-64.
    public var signal: CInt { facts.signal }

    /// Commits the hazard on the calling thread, in the function that is named after it.
    ///
    /// Returns only when a handler made the thread go on behind the fault.
    @inline(never)
    public func commit() {
        facts.commit()
        // A call after the fault keeps this function's frame below it.
        hf_fault_returned()
    }

    /// What the threads saw that `watchedFrame` left behind: how often they read the frame, and how many words were damaged.
    public static var watched: (rounds: UInt64, damage: UInt64) {
        (hf_watcher_rounds(), hf_watcher_damage())
    }

    /// Whether the calling thread sees what an abandoned callout left behind: the value of its task-local, or its C++ exception.
    public static var leavesTraces: Bool {
        Tenant.current != nil || hasCurrentException() || countUncaughtExceptions() != 0
    }

    /// Who locks a condition lock around a body: Foundation's, which only some programs link.
    ///
    /// Protected by: it is set once, before the hazard is committed.
    public nonisolated(unsafe) static var lockingCondition: (() -> Void) -> Void = { _ in
        fatalError("set Hazard.lockingCondition first")
    }
}
