import CLinuxShims
import Glibc
public import Synchronization

/// Sleeping until a word in memory changes: what locks are made of.
///
/// Works only between threads of one process.
public enum Futex {
    /// Sleeps while the word has a value, until it is woken; may return without a reason.
    ///
    /// The corresponding call is `futex(FUTEX_WAIT_PRIVATE)`. The word must outlive the call.
    ///
    /// - Parameters:
    ///   - word: The word.
    ///   - value: If the word has another value, the call returns at once.
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
    ///   - value: If the word has another value, the call returns at once.
    ///   - deadline: Nanoseconds on the monotonic clock; `Int64.max` for never. A time in the past does not wait.
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

/// What to do while spinning on a word that another processor is about to change.
public enum SpinHint {
    /// Tells the processor that the thread spins.
    @inline(__always)
    public static func pause() {
        hf_spin_pause()
    }
}

/// The wait of a thread for another one that is about to do something: it looks again, and sleeps in between if that takes long.
///
/// Sleeping lets the other thread go on even if the one that waits has a higher real-time priority (sched(7)).
package struct SpinWait {
    private var spins = 100
    /// In microseconds; the other thread was interrupted if it takes that long.
    private static var nap: UInt32 { 20 }

    package init() {}

    /// Waits a moment before the next look.
    package mutating func pause() {
        guard spins > 0 else {
            usleep(Self.nap)
            return
        }
        spins -= 1
        SpinHint.pause()
    }
}
