/// Keeps a restart back until it is released.
///
/// Made by `EventHost.hold()` for work that the host cannot see, and by `Drain.hold()` for what is to be brought to an end. One that is never
/// released keeps the process until the limit of `EventHost.AfterResume`, or the deadline of the drain. A callout that is abandoned does not
/// release what it holds: register a cleanup (`HostRunLoop.addCleanup`).
@MainActor
public final class Hold {
    private var whenReleased: (@MainActor () -> Void)?

    init(whenReleased: @escaping @MainActor () -> Void) {
        self.whenReleased = whenReleased
    }

    /// Keeps it back no longer; later calls do nothing.
    public func release() {
        let released = whenReleased
        whenReleased = nil
        released?()
    }
}
