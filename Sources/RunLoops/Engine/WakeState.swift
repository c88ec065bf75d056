import Synchronization

/// Whether a loop sleeps, and whether it was asked to wake: decides when a wake-up costs a system call.
///
/// A wake-up of a loop that runs is only noted; one of a loop that sleeps is noted and sent through its eventfd; one of a
/// loop that ignores wake-ups (it is not running, or between its wake and the next pass) is dropped, as CFRunLoop does
/// (CFRunLoop.c:3384).
struct WakeState: ~Copyable, Sendable {
    /// Wake-ups are dropped.
    private static var ignoring: UInt32 { 1 << 0 }
    /// A wake-up was asked for and not served yet.
    private static var pending: UInt32 { 1 << 1 }
    /// The loop's thread is in, or about to enter, a wait that can block.
    private static var sleeping: UInt32 { 1 << 2 }
    /// What the wait depends on has changed: compute its length again, without a wake-up that anybody notices.
    private static var recheck: UInt32 { 1 << 3 }

    private let word = Atomic<UInt32>(WakeState.ignoring)

    /// Asks for a wake-up and says whether the eventfd must be written for it.
    func requestWake() -> Bool {
        var old = word.load(ordering: .relaxed)
        while true {
            guard old & (Self.ignoring | Self.pending) == 0 else { return false }
            let (exchanged, original) = word.weakCompareExchange(
                expected: old,
                desired: old | Self.pending,
                ordering: .acquiringAndReleasing
            )
            if exchanged { return old & Self.sleeping != 0 }
            old = original
        }
    }

    /// Asks a sleeping loop to compute the length of its sleep again and says whether the eventfd must be written.
    func requestRecheck() -> Bool {
        // Sequentially consistent on both sides: either the sleeper sees the new deadline, or we see it sleeping.
        guard word.load(ordering: .sequentiallyConsistent) & Self.sleeping != 0 else { return false }
        let old = word.bitwiseOr(Self.recheck, ordering: .sequentiallyConsistent).oldValue
        return old & Self.sleeping != 0 && old & Self.recheck == 0
    }

    /// Stops dropping wake-ups and returns whether they were dropped.
    @discardableResult
    func accept() -> Bool {
        guard word.load(ordering: .relaxed) & Self.ignoring != 0 else { return false }
        return word.bitwiseAnd(~Self.ignoring, ordering: .acquiringAndReleasing).oldValue & Self.ignoring != 0
    }

    /// Starts dropping wake-ups; those noted before stay.
    func ignore() {
        word.bitwiseOr(Self.ignoring, ordering: .acquiringAndReleasing)
    }

    /// Whether a wake-up waits to be served.
    var isPending: Bool { word.load(ordering: .acquiring) & Self.pending != 0 }

    /// Serves a wake-up, if there is one.
    func consume() -> Bool {
        guard isPending else { return false }
        word.bitwiseAnd(~Self.pending, ordering: .acquiringAndReleasing)
        return true
    }

    /// Announces that the thread is about to block; returns `false` if it must not because it was woken already.
    func prepareToSleep() -> Bool {
        let old = word.bitwiseOr(Self.sleeping, ordering: .sequentiallyConsistent).oldValue
        guard old & Self.pending == 0 else {
            endSleep()
            return false
        }
        return true
    }

    /// Announces that the thread does not block any more.
    func endSleep() {
        word.bitwiseAnd(~(Self.sleeping | Self.recheck), ordering: .acquiringAndReleasing)
    }
}
