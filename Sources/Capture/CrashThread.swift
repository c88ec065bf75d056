internal import CCrashCapture
internal import CLibunwind
internal import CRecoveryPoint
internal import CTaskPool
internal import Glibc
internal import Symbolication
internal import SystemPackage

/// The ordinary thread that walks a parked thread's stack and gives the verdict.
///
/// It allocates nothing and takes no lock between a fault and its verdict: the heap may be locked by the thread that faulted. There are three
/// exceptions: it prepares itself in the first milliseconds of the process, `decide` takes the supervisor's own lock, and `lookForMutex`
/// allocates after the walk has shown that the thread that faulted does not hold the heap. If the thread blocks all the same, the parked
/// handler's deadline passes, and that is a verdict, too. Protected by: only the thread uses it.
@safe
final class CrashThread {
    let walker: StackWalker?
    private let swiftFailures = FunctionRanges.swiftFailures
    private let errorInMain = FunctionRanges.errorInMain
    private let abortFunctions = FunctionRanges.abortFunctions
    private let waitFunctions = FunctionRanges.waitFunctions
    private let addresses = AddressSet()
    private let initialisers = ThreadLocalInitialisers()
    private let awaitChain: AwaitChain
    private let sampler: ThreadSampler
    private let inspection: CodeInspection
    /// Whether the last walk met a function whose origin nobody has looked up yet.
    private var metPending = false
    /// Whether it met one whose origin was known.
    private var metKnown = false
    /// Whether the origins were just looked up: those that are still pending are unknown for this fault.
    private var isPrepared = false
    /// Whether nothing has faulted: the origins, which are looked up later, are not waited for.
    private var isWarmingUp = false
    private let decide: @Sendable (FaultSummary) -> Decision
    /// Whether the verdict on a callout that is interrupted would be to abandon it.
    private let mayAbandon: @Sendable (FaultSummary) -> Bool
    /// The verdict, if it is to restart the process whatever the stack shows.
    private let decideBeforeWalk: @Sendable (FaultSummary) -> Decision?
    private let decided: @Sendable (FaultSummary, Decision) -> Void
    private let recorded: @Sendable (UInt32) -> Void
    /// Another process serves from now on.
    private let succeeded: @Sendable () -> Void
    /// Another process wants to know what the tasks do.
    private let asked: @Sendable (UInt32) -> Void

    /// Prepares the walk.
    init(
        spool: UnsafeMutablePointer<HFSpoolHeader>,
        sampler: ThreadSampler,
        inspection: CodeInspection,
        decide: @escaping @Sendable (FaultSummary) -> Decision,
        mayAbandon: @escaping @Sendable (FaultSummary) -> Bool,
        decideBeforeWalk: @escaping @Sendable (FaultSummary) -> Decision?,
        decided: @escaping @Sendable (FaultSummary, Decision) -> Void,
        recorded: @escaping @Sendable (UInt32) -> Void,
        succeeded: @escaping @Sendable () -> Void,
        asked: @escaping @Sendable (UInt32) -> Void,
        prepare: @Sendable (ProcessView) -> Void
    ) {
        walker = unsafe StackWalker(spool: spool)
        if walker == nil {
            // The walker lists the images when it is made. Without libunwind there is no walker, but a report needs the images all the
            // same.
            _ = unsafe LoadedImages(spool: spool)
        }
        awaitChain = AwaitChain(runtime: walker?.images.concurrencyLibrary ?? 0..<0)
        self.sampler = sampler
        self.inspection = inspection
        self.decide = decide
        self.mayAbandon = mayAbandon
        self.decideBeforeWalk = decideBeforeWalk
        self.decided = decided
        self.recorded = recorded
        self.succeeded = succeeded
        self.asked = asked
        warmUp()
        unsafe prepare(ProcessView(spool, walksStacks: walker != nil))
    }

    /// How long the program has the processors for its start, in nanoseconds, unless there is a fault.
    ///
    /// The kernel begins a thread on the processor of the one that makes it, although another is idle (in a virtual machine, kernel/sched/,
    /// vcpu_is_preempted): the start would wait for 1.3 ms.
    private static var startTime: UInt64 { 5_000_000 }

    /// Starts the thread; it runs until the process ends, or until capture is withdrawn.
    ///
    /// Does not wait for it: the program goes on with its start meanwhile. A fault waits.
    ///
    /// - Parameter make: Makes what runs on the thread, on the thread.
    /// - Throws: `CrashCaptureError`.
    static func start(_ make: @escaping @Sendable () -> CrashThread) throws(CrashCaptureError) {
        // By then no descriptor may be left, and the dynamic linker needs one at a time.
        let spare = SpareDescriptor()
        hf_capture_expect_decider()
        do {
            // One that came before the thread is known would wait for itself.
            try DetachedThread.start(name: "holdfast-crash", withoutFaultSignals: true) {
                hf_capture_become_decider()
                hf_signal_unblock_faults()
                let begins = hf_capture_await_start(startTime)
                spare.free()
                if begins {
                    let thread = make()
                    hf_capture_note_ready()
                    thread.run()
                }
                hf_capture_stop_deciding()
            }
        } catch {
            hf_capture_stop_deciding()
            throw CrashCaptureError(.thread, error)
        }
    }

    /// Does everything once: libunwind's first walk sets itself up under a lock of its own, and -Onone builds look types up at first use,
    /// which allocates.
    ///
    /// A thread that is parked meanwhile may hold such a lock, or the heap: then its deadline passes.
    private func warmUp() {
        isWarmingUp = true
        defer { isWarmingUp = false }
        hf_context_warm_up()
        let record = UnsafeMutablePointer<HFRecord>.allocate(capacity: 1)
        unsafe UnsafeMutableRawPointer(record).initializeMemory(
            as: UInt8.self,
            repeating: 0,
            count: MemoryLayout<HFRecord>.size
        )
        var context = unsafe ucontext_t()
        unsafe hf_unwind_capture(&context)
        unsafe withUnsafeMutablePointer(to: &context) { context in
            unsafe record.pointee.context = UInt64(UInt(bitPattern: context))
            let walked = unsafe walk(record)
            let fault = unsafe summary(of: record, walk: walked)
            let decision = Decision(fault.mayBeResumed ? .terminate : .restart, because: "nothing happened")
            unsafe write(decision.reason, to: record)
            unsafe sampler.warmUp(record, with: walker, awaitChain)
            _ = unsafe mayBeAbandoned(record)
            if let walker { unsafe awaitChain.warmUp(record, with: walker) }
        }
        // This walk meets no frame that would ask these.
        _ = inspection.origin(0)
        if let walker {
            let unknown = ThreadLocalGuards(offsets: nil)
            _ = unsafe addresses.withAddresses { unsafe initialisers.contain($0, walker, unknown) }
        }
        _ = swiftFailures.contain(0)
        _ = errorInMain.contain(0)
        _ = abortFunctions.contain(0)
        _ = waitFunctions.contain(0)
        unsafe record.deallocate()
    }

    /// Returns if capture is withdrawn before anything was captured (`CrashCapture.withdraw`).
    private func run() {
        var slot: UInt32 = 0
        var unloads: UInt32 = 0
        while true {
            let work = unsafe hf_capture_wait(&slot, &unloads)
            if work == UInt32(HF_WORK_END) { return }
            if work == UInt32(HF_WORK_UNLOAD) {
                // Now, rather than in the next walk: the thread that faulted then may hold the loader's lock.
                walker?.refreshImages()
                continue
            }
            if work == UInt32(HF_WORK_LOOK) {
                carryOutLook()
                continue
            }
            if work == UInt32(HF_WORK_QUESTION) {
                asked(hf_capture_take_question())
                continue
            }
            if work == UInt32(HF_WORK_RESTART) {
                hf_capture_restart_for_another()
                continue
            }
            let record = unsafe hf_capture_record(slot)
            let (fault, decision) = unsafe judge(record, slot)
            if decision.drains { decided(fault, decision) }
            if decision.quarantines { unsafe hf_capture_add_facts(record, UInt32(HF_FACT_QUARANTINED)) }
            unsafe sampler.copyMemory(of: record, slot: slot)
            // Not `==`: -Onone builds look up how to compare at first use, which may allocate.
            let resumes = if case .resume = decision.verdict { true } else { false }
            // A thread that is resumed does not wait for the rest. An end of the process would leave no time for it.
            let number = unsafe record.pointee.number
            if resumes {
                // Before the thread goes on: its next fault may come before this thread does.
                unsafe CrashNotes.addFault(record)
            } else {
                unsafe sampler.sample(record, slot: slot, .together, with: walker)
                hf_async_complete_context(number)
            }
            let isInTime = hf_capture_decide(slot, decision.verdict.rawCode)
            // A process that drains goes on for a while, so other faults get verdicts of their own.
            if isInTime, !resumes, !decision.drains { recordOthers(decision.verdict) }
            hf_capture_wake(slot)
            guard isInTime else { continue }
            // The process may have been told to end while the verdict was made.
            if decision.drains, hf_capture_forgo_restart_of(slot) {
                recorded(slot)
                continue
            }
            if resumes {
                decided(fault, decision)
                unsafe lookAround(record, slot)
                recorded(slot)
            }
        }
    }

    /// Walks the stack and decides; tells the process that stands by, if the verdict is to restart.
    ///
    /// What is written down comes after that: others wait.
    private func judge(_ record: UnsafeMutablePointer<HFRecord>, _ slot: UInt32) -> (FaultSummary, Decision) {
        var fault = unsafe summary(of: record, walk: .init(end: .broken))
        if let decision = unsafe earlyDecision(on: fault, record), hf_capture_release_standby_for(slot) {
            succeeded()
            unsafe write(decision.reason, to: record)
            // For the report.
            fault.walk = unsafe walk(record)
            return (fault, decision)
        }
        fault = unsafe walkAndSummarize(record)
        unsafe lookForInitialiser(record, &fault)
        unsafe lookForMutex(record, &fault)
        let decision = decide(fault)
        unsafe write(decision.reason, to: record)
        if decision.drains {
            // Before the verdict: the thread that faulted uses this deadline as soon as it sees the verdict.
            _ = hf_capture_begin_drain()
            unsafe hf_capture_add_facts(record, UInt32(HF_FACT_DRAINED))
        }
        if case .restart = decision.verdict, hf_capture_release_standby_for(slot) { succeeded() }
        return (fault, decision)
    }

    private func earlyDecision(on fault: FaultSummary, _ record: UnsafeMutablePointer<HFRecord>) -> Decision? {
        // An error of an async main that nobody caught ends the process for good: only the stack shows it.
        unsafe record.pointee.callout_kind == HFCalloutKind.mainQueue.rawValue ? nil : decideBeforeWalk(fault)
    }

    /// Looks at a thread or a task for another thread, unless that has stopped waiting for the answer.
    private func carryOutLook() {
        guard let look = unsafe hf_capture_take_look() else { return }
        if unsafe look.pointee.interruption != nil {
            unsafe interrupt(look)
        } else if unsafe look.pointee.task.task == 0 {
            unsafe sampler.look(at: look, with: walker, awaitChain)
        } else if let walker {
            unsafe awaitChain.look(at: sampler.lookedTask(look), with: walker)
        }
        hf_capture_end_look()
    }

    /// Completes the records of the other threads that have faulted: once this verdict has been acted on, nobody could.
    ///
    /// Those threads stay parked, because the process ends by the first verdict.
    private func recordOthers(_ verdict: Verdict) {
        var slot: UInt32 = 0
        while unsafe hf_capture_next_waiting(&slot) {
            let record = unsafe hf_capture_record(slot)
            _ = unsafe walk(record)
            unsafe write("a fault of another thread had ended the process", to: record)
            unsafe hf_async_complete_context(record.pointee.number)
            _ = hf_capture_decide(slot, verdict.rawCode)
        }
    }

    /// Records the other threads after a fault that was resumed: seldom in a flood, and after the thread has gone on.
    private func lookAround(_ record: UnsafeMutablePointer<HFRecord>, _ slot: UInt32) {
        guard unsafe sampler.isDue(record) else { return }
        // If there is one processor, the thread that was let go runs only when this one does not.
        _ = hf_capture_await_fault(Self.courtesy)
        unsafe hf_async_complete_context(record.pointee.number)
        unsafe sampler.sample(record, slot: slot, .oneByOne, with: walker)
    }

    /// How long a thread that was let go has the processor to itself, in nanoseconds.
    private static var courtesy: UInt64 { 300_000 }

    /// Walks a stack, and once more if the origin of its functions had to be looked up first.
    ///
    /// That reads files and allocates. So it is done only if the walk is clean, provided that these functions are the application's.
    private func walkAndSummarize(_ record: UnsafeMutablePointer<HFRecord>) -> FaultSummary {
        var fault = unsafe summary(of: record, walk: walk(record))
        // What was unknown as the walk began may have become known in the middle of it: by another thread, while a long recursion was
        // walked. Then a function looks like two, one of which has called back the other.
        if metPending, metKnown { fault = unsafe summary(of: record, walk: walk(record)) }
        // With a static standard library, its frames are those of the executable.
        let isOutside = inspection.isStatic ? fault.isOutsideOtherImages : fault.isOutsideLibraries
        guard metPending, !isWarmingUp, isOutside else {
            // Whatever library has called back is not known.
            if metPending, inspection.isStatic { fault.walk.isInsideLibrary = true }
            return fault
        }
        inspection.prepare()
        isPrepared = true
        defer { isPrepared = false }
        var known = unsafe summary(of: record, walk: walk(record))
        known.isProgramUnread = metPending
        return known
    }

    /// Denies a stack that may hold a `Mutex`.
    ///
    /// Only after a walk that was found clean, because this reads files and allocates.
    private func lookForMutex(_ record: UnsafeMutablePointer<HFRecord>, _ fault: inout FaultSummary) {
        guard fault.mayBeResumed else { return }
        let lock = uncountedLock()
        if case .none = lock { return }
        fault.isInLockFrame = true
        fault.isProgramUnread = lock == .unread
        unsafe hf_capture_add_facts(record, UInt32(HF_FACT_LOCK_FRAME))
    }

    /// Denies a stack that was initialising thread-local variables.
    private func lookForInitialiser(_ record: UnsafeMutablePointer<HFRecord>, _ fault: inout FaultSummary) {
        guard fault.mayBeResumed, let walker,
            unsafe addresses.withAddresses({ unsafe initialisers.contain($0, walker, inspection.threadLocalGuards()) })
        else { return }
        fault.isInInitialiser = true
        unsafe hf_capture_add_facts(record, UInt32(HF_FACT_INITIALISER))
    }

    /// Asks about the functions of the last walk.
    private func uncountedLock() -> UncountedLock {
        if addresses.isIncomplete { return .mayBeHeld }
        return unsafe addresses.withAddresses(inspection.uncountedLock)
    }

    private func summary(of record: UnsafeMutablePointer<HFRecord>, walk: FaultSummary.Walk) -> FaultSummary {
        let facts = unsafe record.pointee.facts
        return unsafe FaultSummary(
            number: record.pointee.number,
            thread: record.pointee.thread,
            signal: record.pointee.signal,
            code: record.pointee.code,
            address: record.pointee.address,
            sender: record.pointee.sender_pid,
            hasRecoveryPoint: facts & UInt32(HF_FACT_RECOVERY_POINT) != 0,
            isMainThread: facts & UInt32(HF_FACT_MAIN_THREAD) != 0,
            isStackOverflow: facts & UInt32(HF_FACT_STACK_OVERFLOW) != 0,
            isInTask: facts & UInt32(HF_FACT_TASK) != 0,
            isInCriticalSection: facts & UInt32(HF_FACT_CRITICAL_SECTION) != 0,
            holdsLock: facts & UInt32(HF_FACT_LOCK_HELD) != 0,
            isInLockFrame: facts & UInt32(HF_FACT_LOCK_FRAME) != 0,
            hasOpenRuntimeState: facts & UInt32(HF_FACT_RUNTIME_STATE) != 0,
            isInInitialiser: facts & UInt32(HF_FACT_INITIALISER) != 0,
            isOverdue: facts & UInt32(HF_FACT_OVERDUE) != 0,
            isCalloutUnreadable: record.pointee.callout_kind == UInt32(HF_CALLOUT_UNREADABLE),
            isInJob: record.pointee.callout_kind == HFCalloutKind.task.rawValue,
            isIsolated: facts & UInt32(HF_FACT_ISOLATED) != 0,
            isExiting: hf_async_is_exiting(),
            foundNoRoom: facts & UInt32(HF_FACT_NO_ROOM) != 0,
            item: record.pointee.item,
            isOfSharedPort: facts & UInt32(HF_FACT_SHARED_PORT) != 0,
            walk: walk
        )
    }

    // MARK: Callouts that take too long

    /// Has a callout's thread stand still, and sends it into the fault handler if the callout may be abandoned there.
    ///
    /// Otherwise the thread goes on as if nothing had happened.
    private func interrupt(_ look: UnsafeMutablePointer<HFThreadLook>) {
        guard let attempt = unsafe look.pointee.interruption else { return }
        unsafe attempt.pointee.outcome = UInt32(HF_INTERRUPTION_NOT_NOW)
        // Without room for a record it would not be resumed, although it did nothing wrong.
        guard unsafe attempt.pointee.is_last || hf_capture_has_room() else { return }
        guard unsafe sampler.stopOverdue(look, attempt, hasWalker: walker != nil) else { return }
        guard unsafe hf_async_is_same_callout(attempt) else {
            unsafe attempt.pointee.outcome = UInt32(HF_INTERRUPTION_GONE)
            hf_async_release_thread(hf_async_overdue_index())
            return
        }
        let isLast = unsafe attempt.pointee.is_last
        if unsafe isLast || mayBeAbandoned(hf_async_interrupted_record()) {
            let isInterrupted = unsafe hf_async_interrupt_thread(attempt.pointee.deadline)
            unsafe attempt.pointee.outcome = UInt32(
                isInterrupted ? HF_INTERRUPTION_DONE : HF_INTERRUPTION_SILENT
            )
        } else {
            hf_async_release_thread(hf_async_overdue_index())
        }
    }

    /// Whether the verdict would be to abandon the callout of a thread that stands still.
    private func mayBeAbandoned(_ record: UnsafeMutablePointer<HFRecord>) -> Bool {
        var fault = unsafe walkAndSummarize(record)
        guard fault.mayBeResumed, mayAbandon(fault) else { return false }
        unsafe lookForInitialiser(record, &fault)
        unsafe lookForMutex(record, &fault)
        return !fault.isInLockFrame && !fault.isInInitialiser
    }

    // MARK: The walk

    private func walk(_ record: UnsafeMutablePointer<HFRecord>) -> FaultSummary.Walk {
        guard let walker,
            let context = unsafe UnsafeMutablePointer<ucontext_t>(bitPattern: UInt(record.pointee.context))
        else {
            unsafe record.pointee.frames.0 = record.pointee.registers.16
            unsafe record.pointee.frame_count = 1
            unsafe record.pointee.head_frame_count = 1
            return FaultSummary.Walk(end: .broken)
        }
        var frames = unsafe FrameList(record)
        var judge = WalkJudge()
        var reached = false
        var isInLockFunction = false
        var search = AsyncFrameSearch(awaitChain.runners)
        let isOverdue = unsafe record.pointee.facts & UInt32(HF_FACT_OVERDUE) != 0
        addresses.reset()
        metPending = false
        metKnown = false
        let complete = unsafe walker.walk(context: context, stack: calloutStack(of: record)) { programCounter in
            // A call may be the last instruction of its function: look a return address up inside the call.
            let address = frames.isEmpty ? programCounter : programCounter &- 1
            let isInnermost = frames.isEmpty
            frames.add(programCounter)
            var kind: WalkJudge.Frame?
            if isRecoverySwitch(address) {
                // A callout that has just returned.
                if isInnermost, isOverdue { judge.add(.other) }
                if !reached { judge.reachEnd() }
                reached = true
            } else if hf_is_thread_start(address) || hf_task_pool_is_worker_code(address) {
                judge.reachEnd()
            } else if hf_task_pool_is_runner(programCounter) {
                judge.add(.runner)
            } else if hf_task_pool_is_memory_code(address) {
                judge.add(.other)
            } else {
                let found = classify(address)
                judge.add(found)
                kind = found
                if !reached {
                    addresses.insert(programCounter)
                    if hf_is_in_lock_function(address) { isInLockFunction = true }
                }
            }
            search.note(
                programCounter,
                walker,
                isRuntime: isOfTaskRuntime(address),
                isApplication: kind == .application || kind == .unknown
            )
        }
        let counts = frames.finish()
        unsafe record.pointee.frame_count = counts.kept
        unsafe record.pointee.head_frame_count = counts.head
        unsafe record.pointee.frames_omitted = counts.omitted
        unsafe awaitChain.write(behind: search.found, to: record, with: walker)
        if unsafe record.pointee.await_count > 0 {
            // In the tail, if some frames in the middle were left out.
            let (position, inTail) = (search.position, search.position &- counts.omitted)
            unsafe record.pointee.await_position =
                position < counts.head ? position : inTail > counts.head ? inTail : counts.head
        }
        let end: FaultSummary.Walk.End = reached ? .recoveryPoint : complete ? .outermost : .broken
        // A fault cannot be in these functions, but an interruption can, and there the count of locks lags behind. A thread that waits for
        // a lock has a frame of the library above.
        if isOverdue, isInLockFunction {
            let isInLibrary = if case .foreign = judge.walk(end: end).prefix { true } else { false }
            unsafe hf_capture_add_facts(record, isInLibrary ? 0 : UInt32(HF_FACT_LOCK_FRAME))
        }
        unsafe hf_capture_add_facts(record, reached ? UInt32(HF_FACT_WALK_COMPLETE) : 0)
        unsafe hf_capture_add_facts(record, complete ? 0 : UInt32(HF_FACT_WALK_BROKEN))
        return judge.walk(end: end)
    }

    private func isOfTaskRuntime(_ address: UInt64) -> Bool {
        if awaitChain.runtime.contains(address) || hf_task_pool_is_memory_code(address) { return true }
        // Not `==`: see `run`.
        return if case .taskRuntime = inspection.origin(address) { true } else { false }
    }

    /// The stack of a callout, which stays mapped as long as its thread is parked.
    private func calloutStack(of record: UnsafeMutablePointer<HFRecord>) -> Range<UInt64> {
        let (low, high) = unsafe (record.pointee.stack_low, record.pointee.stack_high)
        let isCallout = unsafe record.pointee.facts & UInt32(HF_FACT_RECOVERY_POINT) != 0
        return isCallout && low < high ? low..<high : 0..<0
    }

    private func isRecoverySwitch(_ address: UInt64) -> Bool {
        address >= hf_recovery_switch_start_address() && address < hf_recovery_switch_end_address()
    }

    private func classify(_ address: UInt64) -> WalkJudge.Frame {
        guard let walker else { return .other }
        if address < 4096 || address == .max { return .noCode }
        if unsafe walker.images.image(at: address) == nil { walker.refreshImages() }
        guard let image = unsafe walker.images.image(at: address) else { return .other }
        switch unsafe image.pointee.kind {
        case .application:
            // A jump into data, where there is no code: the next frame is the caller's.
            guard unsafe (image.pointee.code.0..<image.pointee.code.1).contains(address) else { return .noCode }
            let origin = inspection.origin(address)
            // Not `!=`: see `run`.
            if case .pending = origin { metPending = true } else { metKnown = true }
            switch origin {
            case .swift, .trusted: return .application
            case .native: return .native
            case .inlinedNative: return .inlinedNative
            case .withinNative: return .withinNative
            case .swiftFailure: return .swiftFailure
            case .errorInMain: return .errorInMain
            case .swiftCore: return .swiftCore
            case .taskRuntime, .library: return .other
            case .unknown: return .unknown
            case .pending: return isPrepared ? .unknown : .application
            }
        case .swiftCore:
            if errorInMain.contain(address) { return .errorInMain }
            return swiftFailures.contain(address) ? .swiftFailure : .swiftCore
        case .C:
            if abortFunctions.contain(address) { return .abortFunction }
            return waitFunctions.contain(address) ? .waitFunction : .c
        case .other: return .other
        }
    }

    private func write(_ reason: StaticString, to record: UnsafeMutablePointer<HFRecord>) {
        unsafe withUnsafeMutableBytes(of: &record.pointee.reason) { bytes in
            let count = min(reason.utf8CodeUnitCount, bytes.count - 1)
            for index in 0..<count {
                unsafe bytes[index] = unsafe reason.utf8Start[index]
            }
            unsafe bytes[count] = 0
        }
    }
}

extension Verdict {
    /// The number in the record and in the handler.
    var rawCode: UInt32 {
        switch self {
        case .resume: UInt32(HF_VERDICT_RESUME)
        case .restart: UInt32(HF_VERDICT_RESTART)
        case .terminate: UInt32(HF_VERDICT_TERMINATE)
        }
    }
}
