/// Something that the watcher's thread looks at again and again.
///
/// Looked at by that thread only.
protocol WatcherEntry: AnyObject, Sendable {
    /// Whether what is watched is no more.
    var isGone: Bool { get }
    /// When the next look is due while it is busy, in nanoseconds on the monotonic clock.
    var due: Int64 { get }
    /// Whether the last look found it busy; nil before the first.
    var wasBusy: Bool? { get }
    /// Whether there is something to be seen that was not at the last look.
    var hasNews: Bool { get }
    /// When something is due though nothing is busy, in nanoseconds on the monotonic clock; `Int64.max` for never.
    var ownDue: Int64 { get }

    /// Looks, and does what follows.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - clock: The time without what does not count.
    ///   - number: Gives the number of a new stall.
    ///   - perform: Has a handler called, on another thread.
    /// - Returns: Whether there was something to be seen that was not at the last look.
    func look(
        at now: Int64,
        _ clock: RunningClock,
        number: () -> UInt64,
        perform: (@escaping @Sendable () -> Void) -> Void
    ) -> Bool
    /// Does what is due after a look; says whether something is under way that will be to be seen soon.
    func act(at now: Int64) -> Bool
    /// Tells nobody from now on.
    ///
    /// Callable from any thread.
    func remove()
}
