internal import RunLoops

/// Something that the watcher's thread looks at repeatedly.
///
/// Used on that thread only.
protocol WatcherEntry: AnyObject, Sendable {
    /// Whether the watched object no longer exists.
    var isGone: Bool { get }
    /// When the next look is due while it is busy, in nanoseconds on the monotonic clock.
    var due: Int64 { get }
    /// Whether the last look found it busy; nil before the first.
    var wasBusy: Bool? { get }
    /// Whether anything has changed since the last look.
    var hasNews: Bool { get }
    /// When the entry has work even if nothing is busy, in nanoseconds on the monotonic clock; `Int64.max` for never.
    var ownDue: Int64 { get }

    /// Looks at the watched object, and acts on what it finds.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - clock: The clock that pauses while the process is stopped.
    ///   - number: Returns the number for a new stall.
    ///   - perform: Calls a handler on another thread.
    /// - Returns: Whether anything has changed since the last look.
    func look(
        at now: Int64,
        _ clock: RunningClock,
        number: () -> UInt64,
        perform: (@escaping @Sendable () -> Void) -> Void
    ) -> Bool
    /// Does the work that is due after a look; returns whether something is in progress that a look will soon see.
    func act(at now: Int64) -> Bool
    /// Announces nothing from now on.
    ///
    /// Callable from any thread.
    func remove()
}

/// Something that can stall.
protocol WatchedSubject: AnyObject, Sendable {
    /// How a stall names its subject; nil if that no longer exists.
    var subject: Stall.Subject? { get }
    /// The current state.
    var sight: StallDetector.Sight { get }
    /// When the subject has work even if nothing is busy, in nanoseconds on the monotonic clock; `Int64.max` for never.
    var due: Int64 { get }
    /// Does the work that is due after a look; returns whether something is in progress that a look will soon see.
    func act(at now: Int64) -> Bool
    /// The busy thread's gettid(2); nil if there is none, or if this busy period is over.
    func thread(in number: UInt64) -> CInt?
    /// The number and item of the current callout; nil while the callout changes, and for subjects without callouts.
    var callout: (number: UInt64, item: UInt64)? { get }
    /// Notes that the busy period has become a stall.
    func noteStall(of number: UInt64)
    /// When the stall ended, in nanoseconds on the monotonic clock; nil if that was not noted.
    func end(of number: UInt64) -> Int64?
}
