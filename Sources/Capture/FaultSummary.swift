/// What is known of a fault when its verdict is asked for.
///
/// Made on the crash thread while the thread that faulted is parked. That thread may hold the heap's lock, so this contains nothing
/// allocated.
public struct FaultSummary: Sendable {
    /// What a walk over the faulting thread's stack found between the fault and the recovery point.
    package struct Walk: Sendable, Equatable {
        /// How the walk ended.
        package enum End: Sendable {
            /// It came to the recovery point.
            case recoveryPoint
            /// It came to the outermost frame without passing a recovery point.
            case outermost
            /// It could not continue.
            case broken
        }

        /// What stands above the innermost frame of the application.
        package enum Prefix: Sendable {
            /// Nothing: the application's own instruction faulted.
            case none
            /// A listed failure function of the Swift runtime, and what it calls to end the process.
            case swiftFailure
            /// Swift code of the standard library only. If it traps, a precondition of the caller failed.
            case swiftCode
            /// `abort` or `__assert_fail`, called by the application itself.
            case ownAbort
            /// Functions of the C library that only wait, or move bytes, called by the application itself.
            case waiting
            /// Anything else: a library that may hold a lock.
            case foreign
        }

        /// How the walk ended.
        package var end: End
        /// What stands above the innermost frame of the application.
        package var prefix: Prefix
        /// Whether a foreign frame lies between a frame of the application and the recovery point.
        package var hasForeignFrame: Bool
        /// Whether the application called such a frame: a library that calls back, whose locks may be held.
        package var isInsideLibrary: Bool
        /// Whether an untrusted C or C++ function of the executable lies between functions of the application.
        package var hasNativeFrame: Bool
        /// Whether it is unknown if there is one.
        package var hasUnknownFrame: Bool
        /// Whether the process was aborting: `abort` lies above the innermost frame of the application.
        package var hasAbort: Bool
        /// Whether the runtime was ending the process because of an uncaught error.
        package var isUncaughtError: Bool

        /// Makes a walk's result.
        package init(
            end: End,
            prefix: Prefix = .none,
            hasForeignFrame: Bool = false,
            isInsideLibrary: Bool = false,
            hasNativeFrame: Bool = false,
            hasUnknownFrame: Bool = false,
            hasAbort: Bool = false,
            isUncaughtError: Bool = false
        ) {
            self.end = end
            self.prefix = prefix
            self.hasForeignFrame = hasForeignFrame
            self.isInsideLibrary = isInsideLibrary
            self.hasNativeFrame = hasNativeFrame
            self.hasUnknownFrame = hasUnknownFrame
            self.hasAbort = hasAbort
            self.isUncaughtError = isUncaughtError
        }
    }

    /// The number of the fault in its process, from 1.
    package var number: UInt32
    /// The id of the thread (gettid(2)).
    package var thread: CInt
    /// The signal's number.
    public var signal: CInt
    /// `si_code` of the signal.
    package var code: CInt
    /// The address that the kernel gave with the signal, 0 if it gave none.
    public var address: UInt64
    /// The process that sent the signal; 0 if the kernel raised it.
    package var sender: CInt
    /// Whether the thread was in a callout, on its callout stack, above an armed recovery point.
    package var hasRecoveryPoint: Bool
    /// Whether it is the thread that the process began with.
    package var isMainThread: Bool
    /// Whether the callout stack overflowed.
    public var isStackOverflow: Bool
    /// Whether a Swift task was current on the thread.
    package var isInTask: Bool
    /// Whether the callout was inside a critical section.
    package var isInCriticalSection: Bool
    /// Whether the callout held a lock of the POSIX threads library that it had not held when it began.
    package var holdsLock: Bool
    /// Whether a frame of the callout is inside a function that holds a lock which is not counted, such as `Mutex.withLock`.
    package var isInLockFrame: Bool
    /// Whether nothing is known of the program's functions, because its file could not be read.
    package var isProgramUnread: Bool
    /// Whether the Swift or the C++ runtime keeps something for the thread that cannot be put back: task-local values, exceptions.
    package var hasOpenRuntimeState: Bool
    /// Whether a frame of the callout is inside the initialiser of a thread-local variable of C++, which would count as initialised.
    package var isInInitialiser: Bool
    /// Whether nothing faulted: the callout ran for longer than its deadline and was interrupted, wherever it was.
    package var isOverdue: Bool
    /// Whether the loop's own words about the callout could not be read: whose item it is, and which policy holds.
    package var isCalloutUnreadable: Bool
    /// Whether it was in a job of a task in a fault boundary, which no loop runs.
    package var isInJob: Bool
    /// Whether that job was isolated to an actor, or it is not known to what.
    package var isIsolated: Bool
    /// Whether the process has called `exit`, and so is ending.
    package var isExiting: Bool
    /// Whether all slots for records but the last stayed taken: the reports of earlier faults are not being written.
    package var foundNoRoom: Bool
    /// The identity of the callout's item, 0 for none.
    public var item: UInt64
    /// Whether the item is a port with input from many peers.
    ///
    /// One peer's fault must not cost the others.
    package var isOfSharedPort: Bool
    /// What the walk found.
    package var walk: Walk

    /// Makes a summary: for tests of verdicts.
    package init(
        number: UInt32 = 1,
        thread: CInt = 0,
        signal: CInt,
        code: CInt,
        address: UInt64 = 0,
        sender: CInt = 0,
        hasRecoveryPoint: Bool = true,
        isMainThread: Bool = true,
        isStackOverflow: Bool = false,
        isInTask: Bool = false,
        isInCriticalSection: Bool = false,
        holdsLock: Bool = false,
        isInLockFrame: Bool = false,
        isProgramUnread: Bool = false,
        hasOpenRuntimeState: Bool = false,
        isInInitialiser: Bool = false,
        isOverdue: Bool = false,
        isCalloutUnreadable: Bool = false,
        isInJob: Bool = false,
        isIsolated: Bool = false,
        isExiting: Bool = false,
        foundNoRoom: Bool = false,
        item: UInt64 = 0,
        isOfSharedPort: Bool = false,
        walk: Walk = Walk(end: .recoveryPoint)
    ) {
        self.number = number
        self.thread = thread
        self.signal = signal
        self.code = code
        self.address = address
        self.sender = sender
        self.hasRecoveryPoint = hasRecoveryPoint
        self.isMainThread = isMainThread
        self.isStackOverflow = isStackOverflow
        self.isInTask = isInTask
        self.isInCriticalSection = isInCriticalSection
        self.holdsLock = holdsLock
        self.isInLockFrame = isInLockFrame
        self.isProgramUnread = isProgramUnread
        self.hasOpenRuntimeState = hasOpenRuntimeState
        self.isInInitialiser = isInInitialiser
        self.isOverdue = isOverdue
        self.isCalloutUnreadable = isCalloutUnreadable
        self.isInJob = isInJob
        self.isIsolated = isIsolated
        self.isExiting = isExiting
        self.foundNoRoom = foundNoRoom
        self.item = item
        self.isOfSharedPort = isOfSharedPort
        self.walk = walk
    }
}

extension FaultSummary {
    /// Whether nothing in the walk speaks against resuming: no library's frame, no lock, no task.
    ///
    /// Then the thread that faulted does not hold the heap, and the next steps may allocate.
    var mayBeResumed: Bool {
        hasRecoveryPoint && !isInTask && !isIsolated && !isInCriticalSection && !holdsLock && !isInLockFrame
            && !hasOpenRuntimeState && !isInInitialiser
            && walk.end == .recoveryPoint && !walk.hasForeignFrame && !walk.hasNativeFrame && !walk.hasUnknownFrame
            && hasCleanPrefix
    }

    /// Whether the walk saw no library at work.
    ///
    /// Frames outside of the application have called it, like the start of a thread.
    ///
    /// Then the thread that faulted does not hold the heap, and the next steps may allocate.
    var isOutsideLibraries: Bool {
        // Not `==`, as in `CrashThread.run`.
        if case .broken = walk.end { return false }
        return !walk.isInsideLibrary && hasCleanPrefix
    }

    /// The same of the innermost frames alone, where it is not known yet whose those of the executable are.
    var isOutsideOtherImages: Bool {
        if case .broken = walk.end { return false }
        // A function that waits or moves bytes does not hold the heap.
        if case .waiting = walk.prefix { return true }
        return hasCleanPrefix
    }

    private var hasCleanPrefix: Bool {
        switch walk.prefix {
        case .none: true
        // A runtime that is ending the process holds no lock. One that was interrupted may.
        case .swiftFailure, .swiftCode, .ownAbort: !isOverdue
        case .waiting: isOverdue
        case .foreign: false
        }
    }
}

/// What is done about a fault.
package enum Verdict: Sendable {
    /// The callout is abandoned and the loop goes on.
    case resume
    /// The process is replaced by a fresh one.
    case restart
    /// The process ends as the signal says.
    case terminate
}

/// A verdict with its reason in words.
package struct Decision: Sendable {
    /// What is done.
    package var verdict: Verdict
    /// Why, for the report.
    ///
    /// A literal, because nothing may be allocated when it is given.
    package var reason: StaticString
    /// Whether a restart waits for the main loop to drain, within a deadline.
    package var drains: Bool
    /// Whether the item whose callout is abandoned is taken out of its loop.
    package var quarantines: Bool

    /// Makes a decision.
    package init(
        _ verdict: Verdict,
        because reason: StaticString,
        drains: Bool = false,
        quarantines: Bool = false
    ) {
        self.verdict = verdict
        self.reason = reason
        self.drains = drains
        self.quarantines = quarantines
    }
}
