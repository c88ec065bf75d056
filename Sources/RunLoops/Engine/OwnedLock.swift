import CLinuxShims
import CRecoveryPoint
import Glibc
import LinuxSystem
import Synchronization

/// A lock that one thread, its owner, takes nearly always: the lock of a loop.
///
/// A locked instruction takes as long as thirty others, so the owner does without as long as nobody else wants the lock: it writes one word
/// and reads another. That alone excludes nobody, because a processor may read before its write can be seen (Dekker's algorithm needs a
/// memory barrier in between). So another thread writes the word that the owner reads, and then has *all* threads pass a barrier, by
/// membarrier(2). If the owner has read before that, its write can be seen now; if it reads later, it sees that others are here. From then on
/// a mutex excludes all, until the owner has taken it many times and nobody else has.
struct OwnedLock: SectionLock, ~Copyable, Sendable {
    /// Held by every thread but the owner, and by the owner while the lock is shared.
    private let mutex = FutexLock()
    /// The identity of the owner's thread; 0 for none yet.
    private let owner = Atomic<UInt>(0)
    /// 1 while the owner holds the lock without the mutex, or looks whether it can.
    ///
    /// Written by the owner.
    private let isInside = Atomic<UInt32>(0)
    /// 0 while the owner takes the lock without the mutex.
    ///
    /// Changed with the mutex held: to 0 by the owner, to 1 by others.
    private let isShared = Atomic<UInt32>(1)

    // Touched with the mutex held.
    /// How often the owner has taken the mutex since anybody else has.
    private let quiet = Atomic<UInt32>(0)
    /// How often that must be until the owner does without; 0 if it never may.
    private let patience: Atomic<UInt32>
    /// How often the owner was stopped from doing without.
    private let interruptions = Atomic<UInt32>(0)

    /// Makes a lock without an owner, which is an ordinary mutex until it has one.
    ///
    /// - Parameter patience: How often the owner takes the mutex at first before it does without. This doubles each time, up to 65,536, so that
    ///   threads that come all the time are not asked to pay for many barriers.
    init(patience: UInt32 = 64) {
        self.patience = Atomic(hf_has_barrier_on_all_threads() ? patience : 0)
    }

    private static var mostPatience: UInt32 { 1 << 16 }
    /// How long to wait in place of a barrier that the kernel refuses: a processor's writes are visible long before.
    private static var drainTime: Int64 { 10_000_000 }

    /// Makes the calling thread the owner, until it leaves the lock (`disown()`).
    ///
    /// A thread that has ended may have a successor with its identity, which is then the owner: there is never more than one.
    @inline(__always)
    func own() {
        if owner.load(ordering: .relaxed) != hf_thread_identity() {
            owner.store(hf_thread_identity(), ordering: .relaxed)
        }
    }

    /// Leaves the lock without an owner, which must be the calling thread.
    func disown() {
        lock()
        patience.store(0, ordering: .relaxed)
        owner.store(0, ordering: .relaxed)
        if isInside.load(ordering: .relaxed) != 0 {
            isInside.store(0, ordering: .releasing)
            // Whoever reads this need not wait: nothing is changed under the lock any more.
            isShared.store(1, ordering: .releasing)
        } else {
            mutex.unlock()
        }
        hf_critical_leave()
    }

    /// How often another thread has made the owner use the mutex.
    var interruptionCount: UInt32 { interruptions.load(ordering: .relaxed) }

    /// Takes the lock, for a section that a closure cannot enclose; `unlock()` must follow.
    @inline(__always)
    func lock() {
        hf_critical_enter()
        guard isOwned else { return lockAsOther() }
        if !enter() { lockAsOwner() }
    }

    /// Takes the lock if that takes no time; returns whether it did, and `unlock()` must follow.
    ///
    /// It does not wait, so it may be tried with an item's lock held. Another thread cannot have it while the owner does without the mutex.
    @inline(__always)
    func tryLock() -> Bool {
        hf_critical_enter()
        if isOwned ? enter() || mutex.tryLock() : tryLockAsOther() { return true }
        hf_critical_leave()
        return false
    }

    /// Releases the lock.
    @inline(__always)
    func unlock() {
        if isOwned, isInside.load(ordering: .relaxed) != 0 {
            isInside.store(0, ordering: .releasing)
        } else {
            mutex.unlock()
        }
        hf_critical_leave()
    }

    /// Whether the calling thread is the owner.
    @inline(__always)
    private var isOwned: Bool { owner.load(ordering: .relaxed) == hf_thread_identity() }

    // MARK: The owner

    /// Takes the lock without the mutex; returns whether that was possible.
    @inline(__always)
    private func enter() -> Bool {
        assert(isInside.load(ordering: .relaxed) == 0, "the lock is not recursive")
        isInside.store(1, ordering: .relaxed)
        hf_compiler_barrier()
        if isShared.load(ordering: .acquiring) == 0 { return true }
        isInside.store(0, ordering: .releasing)
        return false
    }

    @inline(never)
    private func lockAsOwner() {
        mutex.lock()
        let count = quiet.load(ordering: .relaxed) &+ 1
        quiet.store(count, ordering: .relaxed)
        let enough = patience.load(ordering: .relaxed)
        guard enough > 0, count >= enough else { return }
        patience.store(max(enough, min(enough &* 2, Self.mostPatience)), ordering: .relaxed)
        isInside.store(1, ordering: .relaxed)
        isShared.store(0, ordering: .relaxed)
        mutex.unlock()
    }

    // MARK: Other threads

    @inline(never)
    private func lockAsOther() {
        mutex.lock()
        quiet.store(0, ordering: .relaxed)
        guard isShared.load(ordering: .acquiring) == 0 else { return }
        share()
        var wait = SpinWait()
        while isInside.load(ordering: .acquiring) != 0 { wait.pause() }
    }

    @inline(never)
    private func tryLockAsOther() -> Bool {
        // To stop the owner takes microseconds, and the caller holds an item's lock.
        guard isShared.load(ordering: .relaxed) != 0, mutex.tryLock() else { return false }
        quiet.store(0, ordering: .relaxed)
        if isShared.load(ordering: .acquiring) != 0 { return true }
        mutex.unlock()
        return false
    }

    /// Makes the owner use the mutex from now on, which is held.
    ///
    /// Afterwards the owner is inside without it only as long as `isInside` is 1.
    private func share() {
        interruptions.store(interruptions.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        isShared.store(1, ordering: .relaxed)
        hf_compiler_barrier()
        guard !hf_barrier_on_all_threads() else { return }
        patience.store(0, ordering: .relaxed)
        let end = MonotonicClock.nanoseconds + Self.drainTime
        while MonotonicClock.nanoseconds < end { usleep(1000) }
    }
}
