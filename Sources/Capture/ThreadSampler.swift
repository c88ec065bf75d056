internal import CCrashCapture
internal import Glibc

/// Takes snapshots of the other threads of a process that faulted: who they are, what they wait for, and where they are.
///
/// Runs on the crash thread, like the walks: allocates nothing and takes no lock. Protected by: only the crash thread uses it.
@safe
final class ThreadSampler {
    /// How the other threads are looked at.
    enum Manner {
        /// All of them stand still together: the process is about to end.
        case together
        /// One after the other, as briefly as possible: the process goes on.
        case oneByOne
    }

    // Computed, because a stored one may be made at first use.

    /// How often a flood of resumed faults is sampled, in nanoseconds.
    private static var interval: UInt64 { 100_000_000 }
    /// How long to wait for threads that stand still together, and then for those that may still answer.
    private static var firstPatience: UInt64 { 5_000_000 }
    private var lastPatience: UInt64 { max(500_000_000, deadline / 4) }
    /// How long to wait for one thread of a process that goes on, and for all of them; longer if the verdict may take longer than usual.
    private var onePatience: UInt64 { max(100_000_000, deadline / 20) }
    private var wholePatience: UInt64 { max(1_000_000_000, deadline / 2) }
    /// How long to wait for a thread that is looked at while nothing has faulted: it may need a processor that others have.
    private static var lookPatience: UInt64 { 500_000_000 }
    /// How long to wait for a thread whose callout takes too long: it is asked again.
    static var overduePatience: UInt64 { 250_000_000 }
    /// How often to check for a fault while waiting: its verdict is more urgent.
    private static var step: UInt64 { 250_000 }
    /// The limit of a walk of a thread that did not fault.
    private static var maximumSteps: Int { 1024 }

    private let spool: UnsafeMutablePointer<HFSpoolHeader>
    private let capturesThreads: Bool
    private let capturesMemory: Bool
    /// How long a handler waits for its verdict: a sample must not use that up.
    private let deadline: UInt64
    private var lastSample: UInt64 = 0
    private let threadsOffset = MemoryLayout<HFThreadSnapshot>.offset(of: \.threads) ?? 0
    private let framesOffset = MemoryLayout<HFThreadEntry>.offset(of: \.frames) ?? 0
    private let lookedEntryOffset = unsafe MemoryLayout<HFThreadLook>.offset(of: \.entry) ?? 0
    private let lookedTaskOffset = unsafe MemoryLayout<HFThreadLook>.offset(of: \.task) ?? 0
    private let lookedCalloutOffset = unsafe MemoryLayout<HFThreadLook>.offset(of: \.callout) ?? 0
    /// For the warm-up.
    private let idleLook = UnsafeMutablePointer<HFThreadLook>.allocate(capacity: 1)

    init(
        spool: UnsafeMutablePointer<HFSpoolHeader>,
        capturesThreads: Bool,
        capturesMemory: Bool,
        deadline: UInt64
    ) {
        unsafe self.spool = unsafe spool
        self.capturesThreads = capturesThreads
        self.capturesMemory = capturesMemory
        self.deadline = deadline
    }

    /// Copies memory contents near a parked thread, as far as the process asked for them.
    func copyMemory(of record: UnsafeMutablePointer<HFRecord>, slot: UInt32) {
        guard capturesMemory, let index = freeArea() else { return }
        let area = unsafe memoryArea(index)
        unsafe area.pointee.fault_number = 0
        unsafe hf_async_capture_memory(record, area)
        unsafe area.pointee.slot = slot
        unsafe area.pointee.fault_number = record.pointee.number
        unsafe record.pointee.memory_area = UInt32(index) + 1
    }

    /// Whether to sample after a fault that was resumed: not too soon after the last sample; notes the time if so.
    func isDue(_ record: UnsafeMutablePointer<HFRecord>) -> Bool {
        if lastSample == 0 || hf_async_monotonic_nanoseconds() - lastSample >= Self.interval { return true }
        unsafe hf_async_capture_code(record)
        unsafe record.pointee.sampling = UInt32(HF_SAMPLING_TOO_SOON)
        return false
    }

    /// Samples all threads but the one that faulted and this one.
    func sample(
        _ record: UnsafeMutablePointer<HFRecord>,
        slot: UInt32,
        _ manner: Manner,
        with walker: StackWalker?
    ) {
        unsafe hf_async_capture_code(record)
        let begin = hf_async_monotonic_nanoseconds()
        defer { lastSample = hf_async_monotonic_nanoseconds() }
        let obstacle = hf_async_sampling_obstacle()
        guard obstacle == UInt32(HF_SAMPLING_DONE), let walker else {
            unsafe record.pointee.sampling = obstacle
            return
        }
        // The last fault of a process is more important than those before it.
        guard let index = freeSnapshot() ?? (manner == .together ? oldestSnapshot() : nil) else {
            unsafe record.pointee.sampling = UInt32(HF_SAMPLING_NO_ROOM)
            return
        }
        unsafe record.pointee.sampling = take(record, slot: slot, manner, begin: begin, snapshot: index, walker)
    }

    /// Does everything once, without asking a thread: -Onone builds look types up at first use, which allocates.
    func warmUp(_ record: UnsafeMutablePointer<HFRecord>, with walker: StackWalker?, _ awaitChain: AwaitChain) {
        unsafe copyMemory(of: record, slot: 0)
        guard capturesThreads, let walker, let index = freeSnapshot(),
            let context = unsafe UnsafeMutablePointer<ucontext_t>(bitPattern: UInt(record.pointee.context))
        else { return }
        let begin = hf_async_monotonic_nanoseconds()
        hf_async_ask_nobody(true)
        _ = oldestSnapshot()
        _ = unsafe take(record, slot: 0, .together, begin: begin, snapshot: index, walker)
        _ = unsafe take(record, slot: 0, .oneByOne, begin: begin, snapshot: index, walker)
        hf_async_ask_nobody(false)
        let snapshot = unsafe threadSnapshot(index)
        _ = unsafe keepFrames(of: context, in: threadEntry(snapshot, 0), walker)
        unsafe snapshot.pointee.fault_number = 0
        unsafe snapshot.pointee.thread_count = 0
        // There is no such thread, so nobody is asked.
        unsafe idleLook.initialize(to: HFThreadLook())
        unsafe look(at: idleLook, with: walker, awaitChain)
        unsafe keep(context, in: idleLook, walker, awaitChain)
    }

    /// Returns the outcome of the sample.
    private func take(
        _ record: UnsafeMutablePointer<HFRecord>,
        slot: UInt32,
        _ manner: Manner,
        begin: UInt64,
        snapshot index: Int,
        _ walker: StackWalker
    ) -> UInt32 {
        let snapshot = unsafe threadSnapshot(index)
        unsafe snapshot.pointee.fault_number = 0
        guard unsafe hf_async_list_threads(snapshot, record.pointee.thread) else { return UInt32(HF_SAMPLING_NO_LIST) }
        unsafe snapshot.pointee.slot = slot
        unsafe snapshot.pointee.is_stopped = manner == .together ? 1 : 0
        // From here on, if the process ends, it leaves what there is.
        unsafe snapshot.pointee.fault_number = record.pointee.number
        unsafe record.pointee.thread_snapshot = UInt32(index) + 1
        let fault = unsafe UInt64(
            bitPattern: record.pointee.uptime_nanoseconds &+ spool.pointee.start_monotonic_nanoseconds
        )
        let whole =
            switch manner {
            case .together: unsafe walkTogether(snapshot, fault: fault, begin: begin, walker)
            case .oneByOne: unsafe walkOneByOne(snapshot, fault: fault, begin: begin, walker)
            }
        return UInt32(whole ? HF_SAMPLING_DONE : HF_SAMPLING_INTERRUPTED)
    }

    /// Looks at one thread while nothing has faulted.
    func look(
        at look: UnsafeMutablePointer<HFThreadLook>,
        with walker: StackWalker?,
        _ awaitChain: AwaitChain
    ) {
        let entry = unsafe lookedEntry(look)
        unsafe hf_async_describe_thread(entry)
        let obstacle = hf_async_sampling_obstacle()
        unsafe look.pointee.obstacle = obstacle
        // Nobody would let this thread go on.
        guard obstacle == UInt32(HF_SAMPLING_DONE), let walker, unsafe entry.pointee.id != hf_capture_decider()
        else { return }
        let now = hf_async_monotonic_nanoseconds()
        // A thread that begins to answer when nobody waits for it any more goes on by itself at this time.
        guard unsafe hf_async_ask_thread(0, entry, now + Self.lookPatience) else { return }
        unsafe entry.pointee.outcome = UInt32(HF_THREAD_SILENT)
        waitFor(0, since: now, atMost: Self.lookPatience)
        if let context = unsafe hf_async_begin_walk(0, entry) {
            unsafe keep(context, in: look, walker, awaitChain)
            if !hf_async_end_walk(0) { unsafe entry.pointee.outcome = UInt32(HF_THREAD_SILENT) }
        }
        hf_async_release_thread(0)
    }

    /// Keeps what a thread that stands still shows.
    private func keep(
        _ context: UnsafeMutablePointer<ucontext_t>,
        in look: UnsafeMutablePointer<HFThreadLook>,
        _ walker: StackWalker,
        _ awaitChain: AwaitChain
    ) {
        unsafe hf_async_copy_callout(0, lookedCallout(look))
        let entry = unsafe lookedEntry(look)
        var search = AsyncFrameSearch(awaitChain.runners)
        let complete = unsafe keepFrames(of: context, in: entry, walker) { address in
            search.note(
                address,
                walker,
                isRuntime: awaitChain.runtime.contains(address),
                isApplication: walker.isApplication(address)
            )
        }
        let task = unsafe lookedTask(look)
        unsafe task.pointee.task = hf_async_task_of(0)
        unsafe awaitChain.write(
            behind: search.found,
            of: task.pointee.task,
            to: hf_looked_awaits(task),
            with: walker
        )
        unsafe task.pointee.await_position = search.position
        unsafe entry.pointee.outcome = UInt32(complete ? HF_THREAD_WALKED : HF_THREAD_WALK_BROKEN)
    }

    func lookedEntry(_ look: UnsafeMutablePointer<HFThreadLook>) -> UnsafeMutablePointer<HFThreadEntry> {
        unsafe (UnsafeMutableRawPointer(look) + lookedEntryOffset).assumingMemoryBound(to: HFThreadEntry.self)
    }

    func lookedTask(_ look: UnsafeMutablePointer<HFThreadLook>) -> UnsafeMutablePointer<HFLookedTask> {
        unsafe (UnsafeMutableRawPointer(look) + lookedTaskOffset).assumingMemoryBound(to: HFLookedTask.self)
    }

    func lookedCallout(_ look: UnsafeMutablePointer<HFThreadLook>) -> UnsafeMutablePointer<HFLookedCallout> {
        unsafe (UnsafeMutableRawPointer(look) + lookedCalloutOffset).assumingMemoryBound(to: HFLookedCallout.self)
    }

    // MARK: The two manners

    private func walkTogether(
        _ snapshot: UnsafeMutablePointer<HFThreadSnapshot>,
        fault: UInt64,
        begin: UInt64,
        _ walker: StackWalker
    ) -> Bool {
        let count = unsafe snapshot.pointee.thread_count
        // Half of the handler's deadline, because the walks come after the wait.
        let last = min(begin + lastPatience, max(begin, fault &+ deadline / 2))
        var index: UInt32 = 0
        while index < count {
            unsafe hf_async_describe_thread(threadEntry(snapshot, index))
            index += 1
        }
        index = 0
        while index < count {
            let entry = unsafe threadEntry(snapshot, index)
            if unsafe hf_async_ask_thread(index, entry, last + lastPatience) {
                unsafe entry.pointee.outcome = UInt32(HF_THREAD_SILENT)
            }
            index += 1
        }
        if !hf_async_await_threads(0, count, min(last, begin + Self.firstPatience)) {
            hf_async_forget_deaf_threads(0, count)
            _ = hf_async_await_threads(0, count, last)
        }
        index = 0
        while index < count {
            unsafe walk(index, threadEntry(snapshot, index), fault: fault, walker)
            index += 1
        }
        index = 0
        while index < count {
            hf_async_release_thread(index)
            index += 1
        }
        return true
    }

    private func walkOneByOne(
        _ snapshot: UnsafeMutablePointer<HFThreadSnapshot>,
        fault: UInt64,
        begin: UInt64,
        _ walker: StackWalker
    ) -> Bool {
        let count = unsafe snapshot.pointee.thread_count
        var index: UInt32 = 0
        while index < count {
            let now = hf_async_monotonic_nanoseconds()
            if hf_capture_has_waiting() || now - begin > wholePatience { return false }
            let entry = unsafe threadEntry(snapshot, index)
            unsafe hf_async_describe_thread(entry)
            if unsafe hf_async_ask_thread(index, entry, now + wholePatience) {
                unsafe entry.pointee.outcome = UInt32(HF_THREAD_SILENT)
                waitFor(index, since: now, atMost: onePatience)
                unsafe walk(index, entry, fault: fault, walker)
                hf_async_release_thread(index)
            }
            index += 1
        }
        return true
    }

    /// Waits for one thread, until another fault needs a verdict.
    func waitFor(_ index: UInt32, since begin: UInt64, atMost patience: UInt64) {
        var now = begin
        var isKnownToHear = false
        while now - begin < patience, !hf_async_await_threads(index, 1, now + Self.step) {
            if hf_capture_has_waiting() { return }
            now = hf_async_monotonic_nanoseconds()
            if !isKnownToHear, now - begin > Self.firstPatience {
                hf_async_forget_deaf_threads(index, 1)
                isKnownToHear = true
            }
        }
    }

    /// Walks a thread's stack if it stands still.
    private func walk(
        _ index: UInt32,
        _ entry: UnsafeMutablePointer<HFThreadEntry>,
        fault: UInt64,
        _ walker: StackWalker
    ) {
        unsafe entry.pointee.after_nanoseconds = Int64(bitPattern: hf_async_monotonic_nanoseconds() &- fault)
        guard unsafe entry.pointee.outcome == UInt32(HF_THREAD_SILENT),
            let context = unsafe hf_async_begin_walk(index, entry)
        else { return }
        let complete = unsafe keepFrames(of: context, in: entry, walker)
        // A thread that went on meanwhile has another stack by now.
        guard hf_async_end_walk(index) else {
            unsafe entry.pointee.frame_count = 0
            return
        }
        unsafe entry.pointee.outcome = UInt32(complete ? HF_THREAD_WALKED : HF_THREAD_WALK_BROKEN)
    }

    /// Returns whether the walk came to the end of the stack.
    private func keepFrames(
        of context: UnsafeMutablePointer<ucontext_t>,
        in entry: UnsafeMutablePointer<HFThreadEntry>,
        _ walker: StackWalker,
        _ note: (UInt64) -> Void = { _ in }
    ) -> Bool {
        let first = unsafe (UnsafeMutableRawPointer(entry) + framesOffset).assumingMemoryBound(to: UInt64.self)
        var frames = unsafe FrameList(
            first,
            headCount: Int(HF_THREAD_HEAD_FRAMES),
            count: Int(HF_THREAD_FRAMES)
        )
        let complete = unsafe walker.walk(context: context, limit: Self.maximumSteps) {
            frames.add($0)
            note($0)
        }
        let counts = frames.finish()
        unsafe entry.pointee.head_frame_count = counts.head
        unsafe entry.pointee.frames_omitted = counts.omitted
        unsafe entry.pointee.frame_count = counts.kept
        return complete
    }

    // MARK: The sections of the spool

    private func threadSnapshot(_ index: Int) -> UnsafeMutablePointer<HFThreadSnapshot> {
        let section = unsafe UnsafeMutableRawPointer(spool) + Int(spool.pointee.snapshot_offset)
        return unsafe section.assumingMemoryBound(to: HFThreadSnapshot.self) + index
    }

    private func threadEntry(
        _ snapshot: UnsafeMutablePointer<HFThreadSnapshot>,
        _ index: UInt32
    ) -> UnsafeMutablePointer<HFThreadEntry> {
        let first = unsafe (UnsafeMutableRawPointer(snapshot) + threadsOffset).assumingMemoryBound(
            to: HFThreadEntry.self
        )
        return unsafe first + Int(index)
    }

    private func memoryArea(_ index: Int) -> UnsafeMutablePointer<HFMemoryArea> {
        let section = unsafe UnsafeMutableRawPointer(spool) + Int(spool.pointee.memory_offset)
        return unsafe section.assumingMemoryBound(to: HFMemoryArea.self) + index
    }

    /// A snapshot that no record needs.
    private func freeSnapshot() -> Int? {
        unsafe firstFree(of: spool.pointee.snapshot_count) { index in
            let snapshot = unsafe threadSnapshot(index)
            return unsafe (snapshot.pointee.fault_number, snapshot.pointee.slot)
        }
    }

    /// The snapshot of the earliest fault.
    private func oldestSnapshot() -> Int? {
        var oldest = 0
        var index = 1
        while unsafe index < Int(spool.pointee.snapshot_count) {
            if unsafe threadSnapshot(index).pointee.fault_number < threadSnapshot(oldest).pointee.fault_number {
                oldest = index
            }
            index += 1
        }
        return oldest
    }

    private func freeArea() -> Int? {
        unsafe firstFree(of: spool.pointee.memory_count) { index in
            let area = unsafe memoryArea(index)
            return unsafe (area.pointee.fault_number, area.pointee.slot)
        }
    }

    private func firstFree(of count: UInt32, _ owner: (Int) -> (number: UInt32, slot: UInt32)) -> Int? {
        for index in 0..<Int(count) {
            let owner = owner(index)
            if !isNeeded(owner.number, slot: owner.slot) { return index }
        }
        return nil
    }

    /// Whether the record of a fault still waits for its report.
    private func isNeeded(_ number: UInt32, slot: UInt32) -> Bool {
        guard number != 0, unsafe slot < spool.pointee.slot_count else { return false }
        let record = unsafe hf_capture_record(slot)
        return unsafe record.pointee.state != UInt32(HF_SLOT_FREE) && record.pointee.number == number
    }

    // MARK: A callout that takes too long

    /// Has a thread whose callout takes too long stand still, unless its kernel state speaks against that.
    ///
    /// - Returns: Whether it stands still; if not, the attempt says why.
    func stopOverdue(
        _ look: UnsafeMutablePointer<HFThreadLook>,
        _ attempt: UnsafeMutablePointer<HFInterruption>,
        hasWalker: Bool
    ) -> Bool {
        let obstacle = hf_async_sampling_obstacle()
        unsafe look.pointee.obstacle = obstacle
        guard obstacle == UInt32(HF_SAMPLING_DONE), hasWalker else {
            unsafe attempt.pointee.outcome = UInt32(HF_INTERRUPTION_IMPOSSIBLE)
            return false
        }
        let entry = unsafe lookedEntry(look)
        unsafe hf_async_describe_thread(entry)
        if unsafe !attempt.pointee.is_last, unsafe !isWorthwhile(entry, attempt) { return false }
        unsafe attempt.pointee.outcome = UInt32(HF_INTERRUPTION_SILENT)
        let index = hf_async_overdue_index()
        let now = hf_async_monotonic_nanoseconds()
        // Ten times as long, because the judgement may read files.
        guard unsafe hf_async_ask_overdue_thread(entry, now + 10 * Self.overduePatience) else { return false }
        waitFor(index, since: now, atMost: Self.overduePatience)
        guard unsafe hf_async_begin_walk(index, entry) != nil else {
            hf_async_release_thread(index)
            return false
        }
        unsafe hf_async_copy_callout(index, lookedCallout(look))
        // Without frames, but with a callout.
        unsafe entry.pointee.outcome = UInt32(HF_THREAD_WALK_BROKEN)
        unsafe attempt.pointee.outcome = UInt32(HF_INTERRUPTION_NOT_NOW)
        return true
    }

    /// Whether the callout may be at a place where it can be abandoned: otherwise a system call would be interrupted in vain.
    private func isWorthwhile(
        _ entry: UnsafeMutablePointer<HFThreadEntry>,
        _ attempt: UnsafeMutablePointer<HFInterruption>
    ) -> Bool {
        let number = unsafe entry.pointee.system_call
        guard number >= 0 else { return true }
        guard hf_async_is_plain_system_call(number) else { return false }
        let place = unsafe hf_async_kernel_place(entry.pointee.id)
        guard place != 0 else { return true }
        let wasThere = unsafe attempt.pointee.place == place
        unsafe attempt.pointee.place = place
        return !wasThere
    }
}
