import Glibc

/// A fault at a moment that a careless resume would not survive: a lock is held, a library or a container is half way through,
/// another thread looks on, or the stack itself is gone.
///
/// For the fault matrix. The agent commits only a `Fault`.
public enum Hazard: String, CaseIterable, Sendable {
    // Swift, in SwiftHazards.swift and ContainerHazards.swift
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

    // Locks, in SwiftHazards.swift and lock_hazards.c
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

    // Libraries and the stack, in library_hazards.c, stack_hazards.c and cxx_exception.cpp
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

    // Between Swift and C, in SwiftHazards.swift, callback_hazards.c and state_hazards.cpp
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

    // Other signals, and circumstances, in system_faults.c and signal_hazards.c
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
    /// One line that says what the hazard does and how it is signalled.
    public var summary: String {
        switch self {
        case .inoutAccess: "traps while a property is being modified (trap)"
        case .deinitializer: "traps in a deinitializer (trap)"
        case .deferred: "traps in a defer (trap)"
        case .lazyGlobal: "traps in the initializer of a global variable (trap)"
        case .genericMetadata:
            "overflows the stack in the runtime, which makes the metadata of an endless type (SIGSEGV)"
        case .unownedReference: "uses an unowned reference to an object that is gone (SIGABRT)"
        case .sortComparator: "traps in a closure that sorts an array (trap)"
        case .dictionaryModify: "traps while a value of a dictionary is changed in place (trap)"
        case .printDescription: "prints a value whose description traps (trap)"
        case .mutex: "traps inside Mutex.withLock (trap)"
        case .queueSync: "traps inside DispatchQueue.sync (trap)"
        case .pthreadMutex: "holds a mutex of the POSIX threads library (SIGILL)"
        case .pthreadRwlock: "holds a readers-writer lock of the POSIX threads library (SIGILL)"
        case .stdioLock: "holds the lock of the standard output (SIGILL)"
        case .loaderLock: "holds the loader's lock, in a callback of dl_iterate_phdr (SIGILL)"
        case .mallocLock: "makes malloc follow a bad link under its lock (SIGSEGV)"
        case .qsortComparator: "faults in a function that qsort calls (SIGILL)"
        case .stackSmash: "ends as an overwritten stack protector does (SIGABRT)"
        case .cxxTerminate: "calls std::terminate (SIGABRT)"
        case .allocatingOverflow: "recurses and allocates until the stack is used up (SIGSEGV)"
        case .watchedFrame: "faults while another thread reads an array of the frame (SIGILL)"
        case .garbageStackPointer: "pushes with a stack pointer just above page zero (SIGSEGV)"
        case .nonCanonicalStackPointer: "pushes with a stack pointer that the processor does not accept (SIGBUS)"
        case .cCallback: "traps in a closure that a C library of the executable calls (trap)"
        case .staticInitializer: "faults in the initialiser of a static variable of a C++ function (SIGILL)"
        case .exceptionState: "faults while a C++ exception is being handled (SIGILL)"
        case .taskLocal: "traps while a task-local has a value, outside of a task (trap)"
        case .conditionLock: "traps between lock and unlock of an NSConditionLock (trap)"
        case .maskedSignals: "faults while all signals are blocked (SIGILL)"
        case .unreadableMemory: "faults where seccomp forbids process_vm_readv (SIGILL)"
        case .forbiddenCall: "makes a system call that seccomp answers with a signal (SIGSYS)"
        case .processorTime: "runs until the limit of processor time is reached (SIGXCPU)"
        case .fileSize: "writes to a file beyond the largest size (SIGXFSZ)"
        }
    }

    /// The number of the signal that the hazard ends in, on x86-64.
    public var signal: CInt {
        switch self {
        case .genericMetadata, .mallocLock, .allocatingOverflow, .garbageStackPointer: SIGSEGV
        case .unownedReference, .stackSmash, .cxxTerminate: SIGABRT
        case .nonCanonicalStackPointer: SIGBUS
        case .forbiddenCall: SIGSYS
        case .processorTime: SIGXCPU
        case .fileSize: SIGXFSZ
        default: SIGILL
        }
    }
}
