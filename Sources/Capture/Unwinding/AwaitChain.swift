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
    }

    /// The words of a frame that are looked at, if neither the register nor the place below the frame pointer holds the context.
    private static let searchedWords: UInt64 = 64
    /// A chain is followed further than a record has room for, to see that it ends.
    private static let longestChain = 512
    /// More parents than any program nests.
    private static let mostTasks = 16

    private let isLayoutKnown = hf_task_layout_is_known()
    private let taskSize = UInt64(hf_task_size())

    /// Writes the chain behind a frame into a record.
    func write(behind frame: Frame?, to record: UnsafeMutablePointer<HFRecord>, with walker: StackWalker) {
        unsafe record.pointee.await_count = 0
        guard isLayoutKnown, let frame else { return }
        unsafe noteTask(of: record, with: walker)
        guard let context = context(in: frame, with: walker) else { return }
        unsafe append(context, to: record, with: walker)
        var task = unsafe record.pointee.task
        var tasks = 0
        while tasks < Self.mostTasks {
            tasks += 1
            guard task != 0, let parent = parent(of: task, with: walker),
                let context = walker.load(parent &+ Self.resumeContextOffset),
                verifiedLength(of: context, with: walker) != nil
            else { return }
            guard unsafe append(UInt64(HF_AWAIT_PARENT_TASK), to: record) else { return }
            unsafe append(context, to: record, with: walker)
            task = parent
        }
    }

    // MARK: The task

    /// AsyncTask::ResumeContext, the first word behind Job.
    private static var resumeContextOffset: UInt64 { 64 }
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

    // MARK: Contexts

    /// The context of the async function that a frame is of.
    func context(in frame: Frame, with walker: StackWalker) -> UInt64? {
        // Below the frame pointer is its place where there are frame pointers (swift/docs/ABI/CallConvSummary.rst, extended frames).
        if let stored = walker.load(frame.framePointer &- 8), verifiedLength(of: stored, with: walker) != nil {
            return stored
        }
        if verifiedLength(of: frame.contextRegister, with: walker) != nil { return frame.contextRegister }
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
                let resume = walker.load(context &+ 8), isFunctionStart(resume, with: walker),
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

    /// Whether an address may be the first one of a function.
    ///
    /// A function that uses no stack has no description in the table (seen: parts of `TaskGroup.Iterator.next()`). Its start is aligned.
    private func isFunctionStart(_ address: UInt64, with walker: StackWalker) -> Bool {
        guard walker.images.isCode(address) else { return false }
        if let function = walker.function(at: address) { return function.lowerBound == address }
        return address % 16 == 0
    }

    /// Appends a chain that was verified, without its end, which is the runtime's.
    private func append(_ context: UInt64, to record: UnsafeMutablePointer<HFRecord>, with walker: StackWalker) {
        var context = context
        while let parent = walker.load(context), parent != 0, let resume = walker.load(context &+ 8) {
            guard unsafe append(resume, to: record) else { return }
            context = parent
        }
    }

    private func append(_ address: UInt64, to record: UnsafeMutablePointer<HFRecord>) -> Bool {
        unsafe hf_capture_add_await(record, address)
    }

    // MARK: Rehearsal

    /// Does everything once, with contexts that are made up, while nobody is parked.
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
    }
}
