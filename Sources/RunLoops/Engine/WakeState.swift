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

    /// A wake-up was dropped, and is to count for the run around this one.
    private static var missed: UInt32 { 1 << 4 }

    private let word = Atomic<UInt32>(WakeState.ignoring)

    /// Asks for a wake-up and says whether the eventfd must be written for it.
    ///
    /// - Parameter isRemembered: Whether one that is dropped counts for the run around the present one, if that is the next
    ///   to go on: it may be past the phase that would have found what the wake-up is for.
    /// - Returns: Whether the eventfd must be written.
    func requestWake(isRemembered: @autoclosure () -> Bool) -> Bool {
        // Sequentially consistent, here and in `accept`: either this sees that wake-ups count again, or the pass that begins
        // sees what was done before this.
        var old = word.load(ordering: .sequentiallyConsistent)
        while true {
            guard old & Self.pending == 0 else { return false }
            let isIgnored = old & Self.ignoring != 0
            if isIgnored {
                guard old & Self.missed == 0, isRemembered() else { return false }
            }
            let (exchanged, original) = word.weakCompareExchange(
                expected: old,
                desired: old | (isIgnored ? Self.missed : Self.pending),
                ordering: .sequentiallyConsistent
            )
            if exchanged { return !isIgnored && old & Self.sleeping != 0 }
            old = original
        }
    }

    /// Whether the loop's thread is in, or about to enter, a wait that can block.
    ///
    /// Sequentially consistent on both sides: either the sleeper sees a deadline that was published before, or whoever
    /// published it sees the sleeper.
    var isSleeping: Bool { word.load(ordering: .sequentiallyConsistent) & Self.sleeping != 0 }

    /// Asks a sleeping loop to compute the length of its sleep again and says whether the eventfd must be written.
    func requestRecheck() -> Bool {
        var old = word.load(ordering: .sequentiallyConsistent)
        // Only while it sleeps: the next sleep looks at the deadlines again by itself, and must not begin with this bit.
        while old & Self.sleeping != 0, old & Self.recheck == 0 {
            let (exchanged, original) = word.weakCompareExchange(
                expected: old,
                desired: old | Self.recheck,
                ordering: .sequentiallyConsistent
            )
            if exchanged { return true }
            old = original
        }
        return false
    }

    /// Stops dropping wake-ups and returns whether they were dropped.
    ///
    /// What was dropped is forgotten: a pass begins, which finds everything.
    @discardableResult
    func accept() -> Bool {
        guard word.load(ordering: .relaxed) & Self.ignoring != 0 else { return false }
        let old = word.bitwiseAnd(~(Self.ignoring | Self.missed), ordering: .sequentiallyConsistent).oldValue
        return old & Self.ignoring != 0
    }

    /// Stops dropping wake-ups in the middle of a pass: one that was dropped and remembered counts now.
    func acceptMissed() {
        let old = word.bitwiseAnd(~(Self.ignoring | Self.missed), ordering: .sequentiallyConsistent).oldValue
        if old & Self.missed != 0 {
            word.bitwiseOr(Self.pending, ordering: .acquiringAndReleasing)
        }
    }

    /// Starts dropping wake-ups; those noted before stay.
    func ignore() {
        guard word.load(ordering: .relaxed) & Self.ignoring == 0 else { return }
        word.bitwiseOr(Self.ignoring, ordering: .acquiringAndReleasing)
    }

    /// Whether a wake-up waits to be served.
    var isPending: Bool { word.load(ordering: .acquiring) & Self.pending != 0 }

    /// Whether wake-ups are dropped.
    var isIgnoring: Bool { word.load(ordering: .acquiring) & Self.ignoring != 0 }

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
