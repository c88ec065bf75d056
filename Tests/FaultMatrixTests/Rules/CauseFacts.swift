import FaultInjection

/// What the rules ask about a cause, apart from where it is committed.
extension Cause {
    /// Whose code runs when the signal comes, above the innermost frame of the application.
    ///
    /// A fault there finds the library's locks held or its heap broken: nothing runs on, not even to hand over.
    var isInsideLibrary: Bool {
        switch self {
        // abort(3), called by the allocator or by the C++ runtime, and raise(3).
        case .fault(.doubleFree), .fault(.heapSmash), .fault(.cxxException), .fault(.raiseSegv): true
        case .hazard(.stackSmash), .hazard(.cxxTerminate), .hazard(.mallocLock), .hazard(.allocatingOverflow): true
        // The C library makes the system call.
        case .hazard(.forbiddenCall): true
        // The Swift runtime makes the metadata.
        case .hazard(.genericMetadata): true
        default: false
        }
    }

    /// Whether a library's frame lies between two of the application's.
    func isCalledByLibrary(in build: Build) -> Bool {
        switch self {
        // Holdfast's own observer of std::terminate is called by the C++ runtime.
        case .fault(.cxxException), .hazard(.cxxTerminate): true
        case .hazard(.deinitializer), .hazard(.lazyGlobal), .hazard(.queueSync), .hazard(.loaderLock),
            .hazard(.qsortComparator), .hazard(.cCallback):
            true
        // Without optimisation sorting and binding a task-local are the standard library's code, with it the application's.
        case .hazard(.sortComparator), .hazard(.taskLocal): build == .debug
        default: false
        }
    }

    /// Whether a lock is held that somebody else will want.
    var holdsLock: Bool { isCounted || self == .hazard(.mutex) }

    /// Whether it is a lock that is counted; a `Mutex` is looked for only where nothing else speaks against resuming.
    var isCounted: Bool {
        switch self {
        case .hazard(.pthreadMutex), .hazard(.pthreadRwlock), .hazard(.stdioLock): true
        // The guard of the variable, and Foundation's lock that is held by a field of its own.
        case .hazard(.staticInitializer), .hazard(.conditionLock): true
        // The standard library locks the stream, and the runtime its tables.
        case .hazard(.printDescription), .hazard(.genericMetadata): true
        default: false
        }
    }

    /// Whether the thread has left its stack, so that nothing can be said of what is on it.
    var hasLeftStack: Bool {
        switch self {
        case .hazard(.garbageStackPointer), .hazard(.nonCanonicalStackPointer): true
        default: false
        }
    }

    /// Whether it is a memory fault elsewhere than in page zero.
    var isMemoryFault: Bool {
        switch self {
        case .fault(.wildPointer), .fault(.nonCanonical), .fault(.readOnlyWrite), .fault(.dataJump),
            .fault(.busPastEof),
            .hazard(.mallocLock):
            true
        default: false
        }
    }

    /// Whether the stack is used up.
    var isStackOverflow: Bool {
        switch self {
        case .fault(.stackOverflow), .hazard(.allocatingOverflow), .hazard(.genericMetadata): true
        default: false
        }
    }
}
