internal import CCrashCapture
internal import CRecordLayout
internal import CRecoveryPoint

/// Follows the async calls behind a stack: where each of the functions goes on that wait for the one that faulted.
///
/// An async function has no frame while it waits, but a context: its first word is the caller's context, its second the address at which the
/// caller goes on (swift/include/swift/ABI/Task.h, AsyncContext). Every link is checked: a context is aligned and readable, the address is
/// the first one of a function, and the chain ends at a context without a caller. What does not verify to its end is not shown at all. On
/// the crash thread: allocates nothing, and takes no lock.
struct AwaitChain {
    /// The registers of a function that the runtime's runner has called: an async function, or what is left of it.
    struct Frame {
        var stackPointer: UInt64
        var framePointer: UInt64
        /// r14, in which an async function gets its context (swift/docs/ABI/CallConvSummary.rst).
        var contextRegister: UInt64
        /// rbx, rbp, r12, r13, r15: a function keeps its context in one of them if it needs r14 itself (seen without frame pointers).
        var savedRegisters: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)
    }

    /// The words of a frame that are looked at, if neither a register nor the place below the frame pointer holds the context.
    private static let searchedWords: UInt64 = 64
    /// A chain is followed further than a record has room for, to see that it ends.
    private static let longestChain = 512
    /// More parents than any program nests.
    private static let mostTasks = 16

    /// Where the Swift runtime's part for tasks is.
    let runtime: Range<UInt64>
    let runners = JobRunners()
    private let isLayoutKnown = hf_task_layout_is_known()
    private let taskSize = UInt64(hf_task_size())

    /// Makes one.
    init(runtime: Range<UInt64>) {
        self.runtime = runtime
    }

    /// Writes the chain behind a frame into a record.
    func write(behind frame: Frame?, to record: UnsafeMutablePointer<HFRecord>, with walker: StackWalker) {
        unsafe record.pointee.await_count = 0
        guard isLayoutKnown, frame != nil else { return }
        unsafe noteTask(of: record, with: walker)
        unsafe write(behind: frame, of: record.pointee.task, to: hf_record_awaits(record), with: walker)
    }

    /// Writes the chain behind a frame of a task; 0 for a task that is not known, whose parents are not either.
    func write(behind frame: Frame?, of task: UInt64, to awaits: HFAwaits, with walker: StackWalker) {
        guard isLayoutKnown, let frame, let context = context(in: frame, with: walker) else { return }
        unsafe append(context, to: awaits, with: walker)
        unsafe appendParents(of: task, to: awaits, with: walker)
    }

    private func appendParents(of task: UInt64, to awaits: HFAwaits, with walker: StackWalker) {
        var task = task
        var tasks = 0
        while tasks < Self.mostTasks {
            tasks += 1
            guard task != 0, let parent = parent(of: task, with: walker),
                let context = walker.load(parent &+ Self.resumeContextOffset),
                verifiedLength(of: context, with: walker) != nil
            else { return }
            guard unsafe hf_add_await(awaits, UInt64(HF_AWAIT_PARENT_TASK)) else { return }
            unsafe append(context, to: awaits, with: walker)
            task = parent
        }
    }

    // MARK: The task

    /// Job::ResumeTask: where a task that waits goes on.
    private static var resumeTaskOffset: UInt64 { 56 }
    /// AsyncTask::ResumeContext, the first word behind Job.
    private static var resumeContextOffset: UInt64 { 64 }
    /// The innermost TaskStatusRecord of ActiveTaskStatus, behind its flags (swift/stdlib/public/Concurrency/TaskPrivate.h).
    private static var statusRecordOffset: UInt64 { UInt64(HF_TASK_STATUS_OFFSET) + 8 }
    /// Job::Flags, of which bit 24 is Task_IsChildTask (swift/include/swift/ABI/MetadataValues.h, JobFlags), and Job::Id.
    private static var flagsOffset: UInt64 { 32 }
    private static var childTaskFlag: UInt64 { 1 << 24 }

    private func noteTask(of record: UnsafeMutablePointer<HFRecord>, with walker: StackWalker) {
        let task = unsafe record.pointee.task
        guard task != 0, let word = walker.load(task &+ Self.flagsOffset) else { return }
        unsafe record.pointee.task_flags = UInt32(truncatingIfNeeded: word)
        unsafe record.pointee.task_id = UInt32(truncatingIfNeeded: word >> 32)
    }

    /// The task that a child task belongs to: AsyncTask::ChildFragment follows the task.
    private func parent(of task: UInt64, with walker: StackWalker) -> UInt64? {
        guard taskSize != 0, let flags = walker.load(task &+ Self.flagsOffset), flags & Self.childTaskFlag != 0,
            let parent = walker.load(task &+ taskSize), parent != 0, parent % 8 == 0
        else { return nil }
        return parent
    }

    // MARK: A task that is looked at

    /// More groups and `async let`s than any function has.
    private static let mostStatusRecords = 64

    /// Reads what a task does while nobody asks it: another thread may run it meanwhile, so all of this may be out of date.
    ///
    /// If it has gone on while its chain was read, there is no chain.
    func look(at look: UnsafeMutablePointer<HFLookedTask>, with walker: StackWalker) {
        let task = unsafe look.pointee.task
        walker.forgetMemory()
        guard isLayoutKnown, task % 8 == 0, let flags = walker.load(task &+ Self.flagsOffset) else { return }
        unsafe look.pointee.flags = UInt32(truncatingIfNeeded: flags)
        unsafe look.pointee.id = UInt32(truncatingIfNeeded: flags >> 32)
        if hf_task_status_is_known() {
            let status = walker.load(task &+ UInt64(HF_TASK_STATUS_OFFSET)) ?? 0
            unsafe look.pointee.status = UInt32(truncatingIfNeeded: status)
            unsafe noteChildren(of: task, in: look, with: walker)
        }
        if parent(of: task, with: walker) != nil {
            unsafe look.pointee.sibling = walker.load(task &+ taskSize &+ 8) ?? 0
        }
        let place = place(of: task, with: walker)
        guard place.context != 0, walker.isFunctionStart(place.function),
            verifiedLength(of: place.context, with: walker) != nil
        else { return }
        let awaits = unsafe hf_looked_awaits(look)
        _ = unsafe hf_add_await(awaits, place.function)
        unsafe append(place.context, to: awaits, with: walker)
        walker.forgetMemory()
        let now = self.place(of: task, with: walker)
        if now.function != place.function || now.context != place.context { unsafe look.pointee.await_count = 0 }
    }

    /// Where a task goes on.
    private func place(of task: UInt64, with walker: StackWalker) -> (function: UInt64, context: UInt64) {
        let function = walker.load(task &+ Self.resumeTaskOffset) ?? 0
        return (function, walker.load(task &+ Self.resumeContextOffset) ?? 0)
    }

    /// Notes the first child of each group and each `async let`.
    ///
    /// Both are status records of their task whose third word is the first child (swift/include/swift/ABI/TaskStatus.h). A child says whose
    /// it is.
    private func noteChildren(of task: UInt64, in look: UnsafeMutablePointer<HFLookedTask>, with walker: StackWalker) {
        var record = walker.load(task &+ Self.statusRecordOffset) ?? 0
        var records = 0
        while record != 0, record % 8 == 0, records < Self.mostStatusRecords {
            records += 1
            if let child = walker.load(record &+ 16), child != 0, child % 8 == 0,
                let parent = parent(of: child, with: walker), parent == task
            {
                guard unsafe hf_add_child(look, child) else { return }
            }
            guard let next = walker.load(record &+ 8) else { return }
            record = next
        }
    }

    // MARK: Contexts

    /// The context of the async function that a frame is of.
    func context(in frame: Frame, with walker: StackWalker) -> UInt64? {
        // Below the frame pointer is its place where there are frame pointers (swift/docs/ABI/CallConvSummary.rst, extended frames).
        if let stored = walker.load(frame.framePointer &- 8), verifiedLength(of: stored, with: walker) != nil {
            return stored
        }
        if verifiedLength(of: frame.contextRegister, with: walker) != nil { return frame.contextRegister }
        let saved = frame.savedRegisters
        if verifiedLength(of: saved.0, with: walker) != nil { return saved.0 }
        if verifiedLength(of: saved.1, with: walker) != nil { return saved.1 }
        if verifiedLength(of: saved.2, with: walker) != nil { return saved.2 }
        if verifiedLength(of: saved.3, with: walker) != nil { return saved.3 }
        if verifiedLength(of: saved.4, with: walker) != nil { return saved.4 }
        var index: UInt64 = 0
        while index < Self.searchedWords {
            guard let word = walker.load(frame.stackPointer &+ index * 8) else { return nil }
            if verifiedLength(of: word, with: walker) != nil { return word }
            index += 1
        }
        return nil
    }

    /// How many links a chain has; nil if it is none.
    func verifiedLength(of context: UInt64, with walker: StackWalker) -> Int? {
        var context = context
        // A context is met again only in a circle: this one is moved after 1, 2, 4, … links (Brent).
        var marked: UInt64 = 0
        var next = 1
        var length = 0
        while length < Self.longestChain {
            length += 1
            guard context != 0, context % 8 == 0, context != marked,
                let resume = walker.load(context &+ 8), walker.isFunctionStart(resume),
                let parent = walker.load(context)
            else { return nil }
            if parent == 0 { return length }
            if length == next {
                marked = context
                next *= 2
            }
            context = parent
        }
        return nil
    }

    /// Appends a chain that was verified, without its end, which is the runtime's.
    private func append(_ context: UInt64, to awaits: HFAwaits, with walker: StackWalker) {
        var context = context
        while let parent = walker.load(context), parent != 0, let resume = walker.load(context &+ 8) {
            guard unsafe hf_add_await(awaits, resume) else { return }
            context = parent
        }
    }

    // MARK: Rehearsal

    /// Does everything once, with contexts that are made up.
    func warmUp(_ record: UnsafeMutablePointer<HFRecord>, with walker: StackWalker) {
        let count = 64
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: count)
        defer { unsafe words.deallocate() }
        unsafe words.initialize(repeating: 0, count: count)
        let start = UInt64(UInt(bitPattern: words))
        let task = unsafe record.pointee.task
        defer { unsafe record.pointee.task = task }
        // Two contexts at the end, of which the frame has the first; a task at the start, which is its own parent.
        unsafe words[56] = start + 60 * 8
        unsafe words[57] = hf_recovery_switch_start_address()
        unsafe words[61] = hf_recovery_switch_start_address()
        unsafe words[50] = start + 56 * 8
        unsafe words[4] = Self.childTaskFlag
        unsafe words[8] = start + 56 * 8
        if taskSize / 8 < 50 { unsafe words[Int(taskSize / 8)] = start }
        unsafe record.pointee.task = start
        let frame = Frame(stackPointer: start + 40 * 8, framePointer: start + 40 * 8, contextRegister: 0)
        unsafe write(behind: frame, to: record, with: walker)
        unsafe record.pointee.await_count = 0
        var looked = HFLookedTask()
        looked.task = start
        unsafe look(at: &looked, with: walker)
    }
}
