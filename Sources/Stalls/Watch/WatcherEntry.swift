internal import RunLoops

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

/// What the watcher looks at.
protocol WatchedSubject: AnyObject, Sendable {
    /// What a stall of it is said to be of; nil if it is gone.
    var subject: Stall.Subject? { get }
    /// What is to be seen now.
    var sight: StallDetector.Sight { get }
    /// When something is due though nothing is busy, in nanoseconds on the monotonic clock; `Int64.max` for never.
    var due: Int64 { get }
    /// Does what is due after a look; says whether something is under way that will be to be seen soon.
    func act(at now: Int64) -> Bool
    /// The thread that is busy, as gettid(2) has it; nil if there is none, or not in this busy period any more.
    func thread(in number: UInt64) -> CInt?
    /// Which callout it is in: a number, and the item; nil while that changes, and where there are none.
    var callout: (number: UInt64, item: UInt64)? { get }
    /// The busy period that was seen has become a stall.
    func noteStall(of number: UInt64)
    /// When the stall ended, in nanoseconds on the monotonic clock; nil if that was not noted.
    func end(of number: UInt64) -> Int64?
}
