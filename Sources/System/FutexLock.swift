public import Synchronization

/// A mutual exclusion lock of four bytes, which must not move while anybody uses it.
///
/// Locking and unlocking take one atomic operation each if nobody waits. `Mutex` will not do, because its operations hide in the standard
/// library from the thread sanitizer. A POSIX mutex must not move, so it must be allocated. For waits with a limit, or for a change, use
/// `Monitor`.
///
/// `public` only so that it is inlined into other modules, where a call each way was 5 % of a timer's life.
public struct FutexLock: ~Copyable, Sendable {
    @usableFromInline static var free: UInt32 { @inlinable get { 0 } }
    @usableFromInline static var held: UInt32 { @inlinable get { 1 } }
    /// Held, and a thread may sleep: the thread that frees it wakes one.
    @usableFromInline static var contended: UInt32 { @inlinable get { 2 } }
    /// Critical sections are some hundred instructions long, so looking this often is cheaper than a sleep.
    private static var spins: Int { 100 }

    @usableFromInline let word = Atomic<UInt32>(0)

    /// Makes a lock that nobody holds.
    @inlinable
    public init() {}

    /// Waits until nobody holds the lock, and takes it.
    @inlinable @inline(__always)
    public func lock() {
        let (taken, _) = word.compareExchange(expected: Self.free, desired: Self.held, ordering: .acquiring)
        if !taken { lockContended() }
    }

    /// Takes the lock if nobody holds it.
    ///
    /// - Returns: Whether it was taken.
    @inlinable @inline(__always)
    public func tryLock() -> Bool {
        word.compareExchange(expected: Self.free, desired: Self.held, ordering: .acquiring).exchanged
    }

    /// Gives the lock back.
    @inlinable @inline(__always)
    public func unlock() {
        if word.exchange(Self.free, ordering: .releasing) == Self.contended {
            wakeOne()
        }
    }

    /// The second mutex of Ulrich Drepper's "Futexes Are Tricky".
    @usableFromInline
    @inline(never)
    func lockContended() {
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

    @usableFromInline
    @inline(never)
    func wakeOne() {
        Futex.wakeOne(waitingOn: word)
    }
}
