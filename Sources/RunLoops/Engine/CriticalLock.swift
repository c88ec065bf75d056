import CRecoveryPoint
import LinuxSystem
import Synchronization

/// A lock under which no user code runs and no fault is resumed.
///
/// Order: a loop's lock before an item's lock; never two of the same kind. Four bytes inside its owner, and one atomic
/// operation each way while nobody waits: a timer has one of its own, and there may be a million timers. Not `Mutex`,
/// whose operations hide in the standard library from the thread sanitizer; not a POSIX mutex, which must be allocated
/// because it must not move.
struct CriticalLock: ~Copyable, Sendable {
    private static var free: UInt32 { 0 }
    private static var held: UInt32 { 1 }
    /// Held, and somebody may sleep: whoever frees it wakes one.
    private static var contended: UInt32 { 2 }
    /// Critical sections are some hundred instructions long: looking this often is cheaper than a sleep.
    private static var spins: Int { 100 }

    private let word = Atomic<UInt32>(CriticalLock.free)

    /// Runs `body` with the lock held.
    ///
    /// Whatever user code could be run by a release (a closure's captures) must leave `body` alive.
    @inline(__always)
    func withLock<Value, Failure>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        lock()
        defer { unlock() }
        return try body()
    }

    /// Takes the lock, for a section that no closure can enclose; `unlock()` must follow.
    @inline(__always)
    func lock() {
        hf_critical_enter()
        let (taken, _) = word.compareExchange(expected: Self.free, desired: Self.held, ordering: .acquiring)
        if !taken { lockContended() }
    }

    /// Frees the lock.
    @inline(__always)
    func unlock() {
        if word.exchange(Self.free, ordering: .releasing) == Self.contended {
            wakeOne()
        }
        hf_critical_leave()
    }

    /// The second mutex of Ulrich Drepper's "Futexes Are Tricky".
    @inline(never)
    private func lockContended() {
        for _ in 0..<Self.spins {
            if word.load(ordering: .relaxed) == Self.free,
                word.compareExchange(expected: Self.free, desired: Self.held, ordering: .acquiring).exchanged
            {
                return
            }
            SpinHint.pause()
        }
        while word.exchange(Self.contended, ordering: .acquiring) != Self.free {
            Futex.wait(on: word, while: Self.contended)
        }
    }

    @inline(never)
    private func wakeOne() {
        Futex.wakeOne(waitingOn: word)
    }
}
