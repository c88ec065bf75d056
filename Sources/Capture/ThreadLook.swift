internal import CCrashCapture
internal import CRecoveryPoint
internal import Synchronization

/// What a look at a thread saw while nothing had faulted.
package struct ThreadLook: Sendable, Hashable {
    /// The callout of its loop.
    package struct Callout: Sendable, Hashable {
        /// The item's identity, unique in the process.
        package var item: UInt64
        /// The pass, counted from 1 over the life of the loop.
        package var pass: UInt64
        /// The kind of item, as a `HostRunLoop.CalloutKind`.
        package var kind: UInt32
        /// The stage of the run, as a bit of `HostRunLoop.Activity`.
        package var activity: UInt32
        /// How many runs were active.
        package var nesting: Int
        /// The mode of the innermost run.
        package var mode: String
        /// The item's label.
        package var label: String
    }

    /// The id of the thread (gettid(2)).
    package var thread: CInt
    /// Its name; "" if it is not known.
    package var name: String
    /// The kernel's state of it before it was asked, as a letter of proc_pid_stat(5); nil if unknown.
    package var state: Character?
    /// The number of the system call that it was in; nil if it was in none, or if that is unknown.
    package var systemCall: Int?
    /// Its stack pointer; 0 if it did not stand still.
    package var stackPointer: UInt64
    /// Program counters, innermost first: the first one exact, the rest return addresses; empty if the thread did not stand still.
    package var frames: [UInt64]
    /// How many of `frames` are the innermost ones; the rest are the outermost.
    package var headFrameCount: Int
    /// How many frames lie between the head and the tail.
    package var framesOmitted: Int
    /// The address of the task that is current on it; 0 for none.
    package var task: UInt64
    /// The async calls behind the first `awaitPosition` frames, as a record has them.
    package var awaits: [UInt64]
    /// After how many of `frames` they come.
    package var awaitPosition: Int
    /// Whether the walk came to the end of its stack.
    package var isWalkComplete: Bool
    /// The callout of its loop; nil if it did not stand still, or not in a callout.
    package var callout: Callout?
}

extension CrashCapture {
    /// One look at a time.
    private static let isLooking = Mutex<Void>(())

    /// Looks at a thread of this process: where it is, what it waits for, and its loop's callout.
    ///
    /// SIGSTKFLT asks the thread to stand still for about 100 us: a system call that a signal interrupts (signal(7)) returns EINTR in it.
    /// There are no frames of the crash thread itself, nor if threads cannot be asked: `capturesThreads` is off, the program uses the
    /// signal, or a debugger holds the process. Callable from any thread.
    ///
    /// - Parameters:
    ///   - thread: The id of the thread (gettid(2)).
    ///   - limit: How long to wait at most until the crash thread begins: faults go first. Once begun, it takes half a second at most.
    /// - Returns: What was seen; nil if the crash thread did not begin in time.
    package static func look(at thread: CInt, within limit: Duration = .seconds(1)) -> ThreadLook? {
        guard hf_capture_has_decider() else { return nil }
        var look = unsafe HFThreadLook()
        unsafe look.entry.id = thread
        unsafe look.entry.system_call = -1
        return unsafe wait(for: &look, within: limit) ? unsafe ThreadLook(look) : nil
    }

    /// Has the crash thread carry out a look; false if it did not begin in time.
    @discardableResult
    fileprivate static func wait(for look: inout HFThreadLook, within limit: Duration) -> Bool {
        let end = hf_async_monotonic_nanoseconds() &+ nanoseconds(limit)
        return isLooking.withLock { _ in unsafe hf_capture_look(&look, end) }
    }
}

extension ThreadLook {
    fileprivate init(_ look: HFThreadLook) {
        let entry = unsafe look.entry
        thread = entry.id
        name = Self.text(entry.name)
        let letter = UInt8(truncatingIfNeeded: entry.kernel_state)
        state = letter == 0 ? nil : Character(UnicodeScalar(letter))
        systemCall = entry.system_call < 0 ? nil : Int(entry.system_call)
        let outcome = entry.outcome
        isWalkComplete = outcome == UInt32(HF_THREAD_WALKED)
        let hasFrames = isWalkComplete || outcome == UInt32(HF_THREAD_WALK_BROKEN)
        stackPointer = hasFrames ? entry.stack_pointer : 0
        let count = hasFrames ? Int(entry.frame_count) : 0
        frames = unsafe withUnsafeBytes(of: entry.frames) { unsafe Array($0.bindMemory(to: UInt64.self).prefix(count)) }
        headFrameCount = min(Int(entry.head_frame_count), frames.count)
        framesOmitted = hasFrames ? Int(entry.frames_omitted) : 0
        task = hasFrames ? unsafe look.task.task : 0
        awaits = hasFrames ? unsafe Self.awaits(look.task) : []
        let position = unsafe Int(look.task.await_position)
        // In the tail, if some frames in the middle were left out.
        awaitPosition =
            position < headFrameCount ? position : max(headFrameCount, min(position - framesOmitted, frames.count))
        let callout = unsafe look.callout
        guard hasFrames, callout.kind != 0 else {
            self.callout = nil
            return
        }
        self.callout = Callout(
            item: callout.item,
            pass: callout.pass,
            kind: callout.kind,
            activity: callout.activity,
            nesting: Int(callout.nesting),
            mode: Self.text(callout.mode),
            label: Self.text(callout.label)
        )
    }

    fileprivate static func awaits(_ task: HFLookedTask) -> [UInt64] {
        unsafe withUnsafeBytes(of: task.awaits) {
            unsafe Array($0.bindMemory(to: UInt64.self).prefix(Int(task.await_count)))
        }
    }

    /// The text in an array of C, up to its NUL.
    private static func text<Bytes>(_ bytes: Bytes) -> String {
        unsafe withUnsafeBytes(of: bytes) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}

// MARK: Tasks

/// What a look at a task saw while another thread may have run it.
package struct TaskLook: Sendable, Hashable {
    /// What the runtime says that it does.
    package enum State: Sendable, Hashable {
        /// A thread runs it.
        case running
        /// It waits for a thread.
        case queued
        /// It waits for something else.
        case waiting
        /// It has ended.
        case complete
        /// The runtime has another layout.
        case unknown
    }

    /// The number that the runtime gave it: the lower half of it.
    package var id: UInt32
    /// Its base priority, as a `TaskPriority` has it.
    package var priority: UInt8
    /// What it does.
    package var state: State
    /// Whether it was cancelled.
    package var isCancelled: Bool
    /// Where it goes on, and the async calls behind that, innermost first, as a record has them; empty if it could not be told.
    ///
    /// Those of one that runs are of the last time that it waited.
    package var awaits: [UInt64]
    /// The addresses of the first child of each group and each `async let`, as far as they still exist.
    package var children: [UInt64]
    /// The address of the next child of its parent; 0 for none.
    package var sibling: UInt64
}

extension CrashCapture {
    /// Looks at a task of this process, by its address.
    ///
    /// All of it is read without the task's help, and verified: an address at which there is no task has no look, or one without a chain.
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - task: The address of the runtime's AsyncTask.
    ///   - limit: How long to wait at most until the crash thread begins: faults go first.
    /// - Returns: What was seen; nil if nothing could be read, or if the crash thread did not begin in time.
    package static func look(atTask task: UInt64, within limit: Duration = .seconds(1)) -> TaskLook? {
        guard hf_capture_has_decider(), task != 0 else { return nil }
        var look = unsafe HFThreadLook()
        unsafe look.task.task = task
        guard unsafe wait(for: &look, within: limit), unsafe look.task.flags != 0 else { return nil }
        return unsafe TaskLook(look.task)
    }
}

extension TaskLook {
    fileprivate init(_ look: HFLookedTask) {
        id = look.id
        priority = UInt8(truncatingIfNeeded: look.flags >> 8)
        let status = Int(look.status)
        func has(_ flag: Int) -> Bool { status & flag != 0 }
        state =
            status == 0
            ? .unknown
            : has(HF_TASK_COMPLETE)
                ? .complete : has(HF_TASK_RUNNING) ? .running : has(HF_TASK_QUEUED) ? .queued : .waiting
        isCancelled = has(HF_TASK_CANCELLED)
        awaits = ThreadLook.awaits(look)
        children = unsafe withUnsafeBytes(of: look.children) {
            unsafe Array($0.bindMemory(to: UInt64.self).prefix(Int(look.child_count)))
        }
        sibling = look.sibling
    }
}

// MARK: Callouts that take too long

/// What became of an attempt to interrupt a callout.
package enum CalloutInterruption: Sendable, Hashable {
    /// The callout is abandoned, or the process ends. The verdict says which, and has a report.
    case done
    /// The callout has ended, or another one has begun.
    case gone
    /// The callout cannot be abandoned just now. It may be possible later.
    case notNow
    /// Its thread did not answer, or a fault was more urgent.
    case silent
    /// No thread can be asked: the program uses the signal, a debugger holds the process, or there is no host.
    case impossible
}

/// A callout that runs for longer than its deadline.
package struct OverdueCallout: Sendable {
    /// The id of its thread (gettid(2)).
    package var thread: CInt
    /// The words that the loop writes when callouts begin and end, with their values when the callout was found overdue.
    package var values: (UInt64, UInt64, UInt64)
    /// Its deadline, in nanoseconds.
    package var deadline: UInt64
    /// What was seen of its thread when it last stood still, without frames; nil if it never did.
    package private(set) var look: ThreadLook?
    /// Where its thread was when it was interrupted in vain.
    private var place: UInt64 = 0

    /// Makes the description of one.
    package init(thread: CInt, values: (UInt64, UInt64, UInt64), deadline: UInt64) {
        self.thread = thread
        self.values = values
        self.deadline = deadline
    }

    /// Interrupts it once, if it can be abandoned where it is.
    ///
    /// Callable from any thread but the one that is interrupted.
    ///
    /// - Parameters:
    ///   - words: The loop's words from which `values` was read, in the same order.
    ///   - isLast: Whether to ask for a verdict even if something speaks against resuming. That verdict is a denial, which ends the
    ///     process.
    /// - Returns: What became of it.
    package mutating func interrupt(
        words: (UnsafeRawPointer, UnsafeRawPointer, UnsafeRawPointer),
        isLast: Bool
    ) -> CalloutInterruption {
        guard hf_capture_has_decider() else { return .impossible }
        var attempt = unsafe HFInterruption(
            words: (
                words.0.assumingMemoryBound(to: UInt64.self), words.1.assumingMemoryBound(to: UInt64.self),
                words.2.assumingMemoryBound(to: UInt64.self)
            ),
            values: values,
            deadline: deadline,
            place: place,
            is_last: isLast,
            outcome: UInt32(HF_INTERRUPTION_NONE)
        )
        var look = unsafe HFThreadLook()
        unsafe look.entry.id = thread
        unsafe look.entry.system_call = -1
        unsafe withUnsafeMutablePointer(to: &attempt) { attempt in
            unsafe look.interruption = attempt
            unsafe CrashCapture.wait(for: &look, within: .seconds(1))
        }
        place = attempt.place
        let seen = unsafe ThreadLook(look)
        if seen.callout != nil { self.look = seen }
        switch Int(attempt.outcome) {
        case HF_INTERRUPTION_DONE: return .done
        case HF_INTERRUPTION_GONE: return .gone
        case HF_INTERRUPTION_NOT_NOW: return .notNow
        case HF_INTERRUPTION_IMPOSSIBLE: return .impossible
        default: return .silent
        }
    }
}
