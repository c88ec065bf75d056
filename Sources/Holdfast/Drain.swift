public import RunLoops

/// The time that a process has to bring what is healthy to an end before another takes its place.
///
/// Given to the handlers of `EventHost.onDrain(_:)`. The process is replaced when every hold was released, and at the deadline in any
/// case.
@MainActor
public final class Drain {
    /// Why the process is going to be replaced.
    public enum Reason: Sendable, Hashable {
        /// A thread that cannot be resumed has faulted, and stands still until then: what it holds stays held.
        case fault
        /// It was planned: after a fault that was resumed, or by request.
        case planned
    }

    /// Postpones the end of a drain, until it is released.
    @MainActor
    public final class Hold {
        private var drain: Drain?

        init(_ drain: Drain) {
            self.drain = drain
        }

        /// Postpones no longer; later calls do nothing.
        public func release() {
            drain?.end(self)
            drain = nil
        }
    }

    /// Why the process is going to be replaced.
    public let reason: Reason
    /// When it is replaced, whoever still holds it.
    public let deadline: HostRunLoop.Instant
    private var holds = 0
    private var whenDone: (@MainActor () -> Void)?

    init(_ reason: Reason, until deadline: HostRunLoop.Instant, whenDone: @escaping @MainActor () -> Void) {
        self.reason = reason
        self.deadline = deadline
        self.whenDone = whenDone
    }

    /// Postpones the end of the drain until the hold is released, or the deadline has come.
    public func hold() -> Hold {
        holds += 1
        return Hold(self)
    }

    private func end(_: Hold) {
        holds -= 1
        if holds == 0 { finish() }
    }

    /// Ends the drain, once.
    func finish() {
        whenDone?()
        whenDone = nil
    }
}
