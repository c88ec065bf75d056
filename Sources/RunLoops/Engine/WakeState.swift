import Synchronization

/// Whether a loop sleeps and whether it was asked to wake; this decides when a wake-up needs a system call.
///
/// A wake-up of a running loop is only recorded. A wake-up of a sleeping loop is recorded and sent through its eventfd. A loop
/// ignores wake-ups while it is not running, and between its wake and the next pass; then they are dropped, as in CFRunLoop
/// (CFRunLoop.c:3384).
struct WakeState: ~Copyable, Sendable {
    /// Wake-ups are dropped.
    private static var ignoring: UInt32 { 1 << 0 }
    /// A wake-up was requested and not served yet.
    private static var pending: UInt32 { 1 << 1 }
    /// The loop's thread is in, or about to enter, a wait that can block.
    private static var sleeping: UInt32 { 1 << 2 }
    /// Something that the wait depends on has changed: compute its length again, without a visible wake-up.
    private static var recheck: UInt32 { 1 << 3 }

    /// A dropped wake-up that counts for the run around this one.
    private static var missed: UInt32 { 1 << 4 }

    private let word = Atomic<UInt32>(WakeState.ignoring)

    /// Requests a wake-up; returns whether the eventfd must be written for it.
    ///
    /// - Parameter isRemembered: Whether a dropped wake-up counts for the run around the present one if that continues next. That
    ///   run may be past the phase that would have found the work.
    /// - Returns: Whether the eventfd must be written.
    func requestWake(isRemembered: @autoclosure () -> Bool) -> Bool {
        // Sequentially consistent, here and in `accept`. Either this call sees that wake-ups count again, or the pass that begins
        // sees the work that was done before this call.
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
    /// Sequentially consistent on both sides: either the sleeper sees a deadline that was published before, or the publisher sees
    /// the sleeper.
    var isSleeping: Bool { word.load(ordering: .sequentiallyConsistent) & Self.sleeping != 0 }

    /// Asks a sleeping loop to compute the length of its sleep again; returns whether the eventfd must be written.
    func requestRecheck() -> Bool {
        var old = word.load(ordering: .sequentiallyConsistent)
        // Only while it sleeps: the next sleep reads the deadlines anyway, and must not begin with this bit set.
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

    /// Stops dropping wake-ups; returns whether they were dropped before.
    ///
    /// Dropped wake-ups are forgotten, because the pass that begins finds all work.
    @discardableResult
    func accept() -> Bool {
        guard word.load(ordering: .relaxed) & Self.ignoring != 0 else { return false }
        let old = word.bitwiseAnd(~(Self.ignoring | Self.missed), ordering: .sequentiallyConsistent).oldValue
        return old & Self.ignoring != 0
    }

    /// Stops dropping wake-ups in the middle of a pass; a remembered wake-up counts from now on.
    func acceptMissed() {
        let old = word.bitwiseAnd(~(Self.ignoring | Self.missed), ordering: .sequentiallyConsistent).oldValue
        if old & Self.missed != 0 {
            word.bitwiseOr(Self.pending, ordering: .acquiringAndReleasing)
        }
    }

    /// Starts to drop wake-ups; those recorded before remain.
    func ignore() {
        guard word.load(ordering: .relaxed) & Self.ignoring == 0 else { return }
        word.bitwiseOr(Self.ignoring, ordering: .acquiringAndReleasing)
    }

    /// Does the same, and announces that the thread no longer blocks if it is announced that it does.
    func ignoreAfterSleep() {
        var old = word.load(ordering: .relaxed)
        while true {
            let new = old & ~(Self.sleeping | Self.recheck) | Self.ignoring
            let (exchanged, original) = word.weakCompareExchange(
                expected: old,
                desired: new,
                ordering: .acquiringAndReleasing
            )
            if exchanged { return }
            old = original
        }
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

    /// Announces that the thread is about to block; returns `false` if it must not block because it was already woken.
    func prepareToSleep() -> Bool {
        let old = word.bitwiseOr(Self.sleeping, ordering: .sequentiallyConsistent).oldValue
        guard old & Self.pending == 0 else {
            endSleep()
            return false
        }
        return true
    }

    /// Announces that the thread no longer blocks.
    func endSleep() {
        word.bitwiseAnd(~(Self.sleeping | Self.recheck), ordering: .acquiringAndReleasing)
    }
}
