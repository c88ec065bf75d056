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
        for _ in 0..<Self.mostTasks {
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
        for index in 0..<Self.searchedWords {
            guard let word = walker.load(frame.stackPointer &+ index * 8) else { return nil }
            if verifiedLength(of: word, with: walker) != nil { return word }
        }
        return nil
    }

    /// How many links a chain has; nil if it is none.
    func verifiedLength(of context: UInt64, with walker: StackWalker) -> Int? {
        var context = context
        // A context is met again only in a circle: this one is moved after 1, 2, 4, … links (Brent).
        var marked: UInt64 = 0
        var next = 1
        for length in 1...Int(HF_MAXIMUM_AWAITS) * 4 {
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
        return walker.function(at: address).map { $0.lowerBound == address } ?? (address % 16 == 0)
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
        let count = unsafe Int(record.pointee.await_count)
        return unsafe withUnsafeMutablePointer(to: &record.pointee.awaits) { awaits in
            let capacity = Int(HF_MAXIMUM_AWAITS)
            guard count < capacity else { return false }
            unsafe awaits.withMemoryRebound(to: UInt64.self, capacity: capacity) { unsafe $0[count] = address }
            unsafe record.pointee.await_count = UInt32(count + 1)
            return true
        }
    }
}
