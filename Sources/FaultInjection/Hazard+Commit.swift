internal import CFaultInjection

extension Hazard {
    /// Commits the hazard on the calling thread, in the function that is named after it.
    ///
    /// Returns only when a handler made the thread go on behind the fault.
    @inline(never)
    public func commit() {
        switch self {
        case .inoutAccess: faultInoutAccess()
        case .deinitializer: faultDeinitializer()
        case .deferred: faultDeferred()
        case .lazyGlobal: faultLazyGlobal()
        case .genericMetadata: faultGenericMetadata()
        case .unownedReference: faultUnownedReference()
        case .sortComparator: faultSortComparator()
        case .dictionaryModify: faultDictionaryModify()
        case .printDescription: faultPrintDescription()
        case .mutex: faultMutex()
        case .queueSync: faultQueueSync()
        case .pthreadMutex: faultPthreadMutex()
        case .pthreadRwlock: faultPthreadRwlock()
        case .stdioLock: faultStdioLock()
        case .loaderLock: faultLoaderLock()
        case .mallocLock: faultMallocLock()
        case .qsortComparator: faultQsortComparator()
        case .stackSmash: faultStackSmash()
        case .cxxTerminate: faultCxxTerminate()
        case .allocatingOverflow: faultAllocatingOverflow()
        case .watchedFrame: faultWatchedFrame()
        case .garbageStackPointer: faultGarbageStackPointer()
        case .nonCanonicalStackPointer: faultNonCanonicalStackPointer()
        case .cCallback: faultCCallback()
        case .staticInitializer: faultStaticInitializer()
        case .exceptionState: faultExceptionState()
        case .taskLocal: faultTaskLocal()
        case .conditionLock: faultConditionLock()
        case .maskedSignals: faultMaskedSignals()
        case .unreadableMemory: faultUnreadableMemory()
        case .forbiddenCall: faultForbiddenCall()
        case .processorTime: faultProcessorTime()
        case .fileSize: faultFileSize()
        }
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
