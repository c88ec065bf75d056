internal import CCrashCapture

/// What became of an attempt to interrupt a callout.
package enum CalloutInterruption: Sendable, Hashable {
    /// The callout is abandoned, or the process ends: as its verdict says, which has a report.
    case done
    /// The callout has ended, or another one began.
    case gone
    /// It cannot be abandoned just now; later, perhaps.
    case notNow
    /// Its thread did not answer, or a fault was more urgent.
    case silent
    /// No thread can be asked: the program uses the signal, a debugger holds the process, or there is no host.
    case impossible
}

/// A callout that runs for longer than its deadline.
package struct OverdueCallout: Sendable {
    /// Its thread, as gettid(2) has it.
    package var thread: CInt
    /// What the loop writes when callouts begin and end, as it was when the callout was found overdue.
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
    ///   - words: Where the loop writes what `values` was read from, in the same order.
    ///   - isLast: Whether the verdict is asked for whatever speaks against resuming; then it is a denial, which ends the process.
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
