/// Keeps a restart back until it is released.
///
/// `EventHost.hold()` makes one for work that the host cannot see, `Drain.hold()` for work that is to be ended first. A hold that is never
/// released keeps the process until the limit of `EventHost.AfterResume`, or the deadline of the drain. An abandoned callout does not
/// release its holds: register a cleanup (`HostRunLoop.addCleanup`).
@MainActor
public final class Hold {
    private var whenReleased: (@MainActor () -> Void)?

    init(whenReleased: @escaping @MainActor () -> Void) {
        self.whenReleased = whenReleased
    }

    /// Releases the hold; later calls do nothing.
    public func release() {
        let released = whenReleased
        whenReleased = nil
        released?()
    }
}
