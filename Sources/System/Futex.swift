import CLinuxShims
public import Synchronization

/// Sleeping until a word in memory changes: what locks are made of.
///
/// Private to the process.
public enum Futex {
    /// Sleeps while the word has a value, until it is woken; may return for no reason.
    ///
    /// The corresponding call is `futex(FUTEX_WAIT_PRIVATE)`. The word must outlive the call.
    ///
    /// - Parameters:
    ///   - word: The word.
    ///   - value: Returns at once if the word has another.
    public static func wait(on word: borrowing Atomic<UInt32>, while value: UInt32) {
        unsafe withUnsafeBytes(of: word) { bytes in
            guard let address = bytes.baseAddress else { return }
            unsafe hf_futex_wait(address.assumingMemoryBound(to: UInt32.self), value)
        }
    }

    /// The same, until a time at the latest.
    ///
    /// The corresponding call is `futex(FUTEX_WAIT_BITSET)`.
    ///
    /// - Parameters:
    ///   - word: The word.
    ///   - value: Returns at once if the word has another.
    ///   - deadline: Nanoseconds on the monotonic clock; `Int64.max` for never, and the past does not wait.
    public static func wait(on word: borrowing Atomic<UInt32>, while value: UInt32, before deadline: Int64) {
        guard deadline != .max else { return wait(on: word, while: value) }
        unsafe withUnsafeBytes(of: word) { bytes in
            guard let address = bytes.baseAddress else { return }
            unsafe hf_futex_wait_until(address.assumingMemoryBound(to: UInt32.self), value, max(0, deadline))
        }
    }

    /// Wakes one thread that sleeps on the word, if there is one.
    ///
    /// The corresponding call is `futex(FUTEX_WAKE_PRIVATE)`.
    ///
    /// - Parameter word: The word.
    public static func wakeOne(waitingOn word: borrowing Atomic<UInt32>) {
        unsafe withUnsafeBytes(of: word) { bytes in
            guard let address = bytes.baseAddress else { return }
            unsafe hf_futex_wake(address.assumingMemoryBound(to: UInt32.self), 1)
        }
    }
}

/// What to do between two looks at a word that another processor is about to change.
public enum SpinHint {
    /// Tells the processor that the thread spins.
    @inline(__always)
    public static func pause() {
        hf_spin_pause()
    }
}
