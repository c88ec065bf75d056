internal import CCrashCapture
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

    /// The text in an array of C, up to its NUL.
    private static func text<Bytes>(_ bytes: Bytes) -> String {
        unsafe withUnsafeBytes(of: bytes) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
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
