public import Synchronization

/// A mutual exclusion lock of four bytes for sections of some ten instructions, which a thread nearly always finds free.
///
/// Unlike `FutexLock` it takes one locked instruction instead of two: freeing it wakes nobody. A thread that finds it held looks again, and
/// sleeps in between (`SpinWait`). It must not move while anybody uses it.
public struct BriefLock: ~Copyable, Sendable {
    @usableFromInline let isHeld = Atomic<UInt32>(0)

    /// Makes a lock that nobody holds.
    @inlinable
    public init() {}

    /// Waits until nobody holds the lock, and takes it.
    @inlinable @inline(__always)
    public func lock() {
        if !tryLock() { lockContended() }
    }

    /// Gives the lock back.
    @inlinable @inline(__always)
    public func unlock() { isHeld.store(0, ordering: .releasing) }

    @inlinable @inline(__always)
    func tryLock() -> Bool { isHeld.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged }

    @usableFromInline
    @inline(never)
    func lockContended() {
        var wait = SpinWait()
        while isHeld.load(ordering: .relaxed) != 0 || !tryLock() { wait.pause() }
    }
}
