internal import LinuxSystem
internal import Synchronization

/// A counting semaphore: sem_overview(7), with limits on the monotonic clock.
///
/// sem_timedwait(3) waits until a time of the wall clock, which may be set back. Takes no lock. Callable from any thread.
final class Semaphore: Sendable {
    /// The signals that were not taken yet.
    private let count = Atomic<UInt32>(0)
    /// How many threads are about to sleep, or sleep.
    private let waiting = Atomic<UInt32>(0)

    /// Makes one without signals.
    init() {}

    /// Discards the signals that came meanwhile, without waiting.
    func drain() { count.store(0, ordering: .sequentiallyConsistent) }

    /// Ends one wait, now or later.
    func signal() {
        // Sequentially consistent, here and in `wait`: either this sees the waiting thread, or that thread sees the signal.
        count.add(1, ordering: .sequentiallyConsistent)
        if waiting.load(ordering: .sequentiallyConsistent) > 0 { Futex.wakeOne(waitingOn: count) }
    }

    /// Waits for a signal, at most as long as given.
    func wait(atMost limit: Duration? = nil) {
        if take() { return }
        let end = limit.map(Self.deadline) ?? .max
        waiting.add(1, ordering: .sequentiallyConsistent)
        defer { waiting.subtract(1, ordering: .sequentiallyConsistent) }
        while !take(), end == .max || MonotonicClock.nanoseconds < end {
            Futex.wait(on: count, while: 0, before: end)
        }
    }

    /// Takes a signal, if there is one.
    private func take() -> Bool {
        var old = count.load(ordering: .sequentiallyConsistent)
        while old > 0 {
            let (taken, present) = count.weakCompareExchange(
                expected: old,
                desired: old - 1,
                ordering: .sequentiallyConsistent
            )
            if taken { return true }
            old = present
        }
        return false
    }

    /// When a wait that begins now ends: nanoseconds on the monotonic clock.
    private static func deadline(_ limit: Duration) -> Int64 {
        let (seconds, attoseconds) = limit.components
        // More than a century is for ever.
        guard seconds < 3_000_000_000 else { return .max }
        return MonotonicClock.nanoseconds + max(0, seconds) * 1_000_000_000 + max(0, attoseconds) / 1_000_000_000
    }
}
