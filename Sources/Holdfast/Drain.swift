package import RunLoops

/// The time in which a process ends its healthy work before another takes its place.
///
/// Given to the handlers of `EventHost.onDrain(_:)`. The process is replaced when every hold was released, and at the deadline in any case.
///
/// After a fault of another thread (`parkedThread`), that thread's own work never ends. A graceful shutdown that waits for all work waits
/// for it, too, and so always until the deadline. Wait only for what the main loop serves, or set a time with `end(within:)`. Do not close
/// a listening socket that the next process makes anew: keep it (`EventHost.keepAcrossRestart`), and clients wait meanwhile instead of
/// being refused.
@MainActor
public final class Drain {
    /// Why the process is going to be replaced.
    package enum Reason: Sendable, Hashable {
        /// A thread that cannot be resumed has faulted, and stands still until then: what it holds stays held.
        case fault
        /// It was planned: after a fault that was resumed, or by request.
        case planned
    }

    /// Why the process is going to be replaced.
    package let reason: Reason
    /// When it is replaced, whoever still holds it: `onRestart` handlers are called then.
    ///
    /// Where a thread stands still, it goes by the same time, and replaces the process itself a second later if the main loop did not.
    package private(set) var deadline: HostRunLoop.Instant
    /// The thread that has faulted and stands still, as gettid(2) has it; nil when the drain was planned, and where it is not known.
    ///
    /// Its work never ends: do not wait for it.
    public let parkedThread: CInt?
    private var holds = 0
    private var whenDone: (@MainActor () -> Void)?
    /// Called first if the deadline has come.
    var whenLate: (@MainActor () -> Void)?
    /// What may be waited for after the drain, too.
    var requests: RequestsUnderWay?
    /// Fires at the deadline.
    private var late: HostRunLoop.Timer?

    init(
        _ reason: Reason,
        until deadline: HostRunLoop.Instant,
        parkedThread: CInt? = nil,
        whenDone: @escaping @MainActor () -> Void
    ) {
        self.reason = reason
        self.deadline = deadline
        self.parkedThread = parkedThread
        self.whenDone = whenDone
    }

    /// Brings the deadline forward, for work that may never end; a time after `deadline` changes nothing.
    ///
    /// - Parameter limit: How long the drain may go on from now.
    public func end(within limit: Duration) {
        let earlier = HostRunLoop.Instant.now.advanced(by: limit)
        guard earlier < deadline else { return }
        deadline = earlier
        late?.nextFireDate = earlier
    }

    /// Ends the drain at its deadline, on a loop.
    func keepTime(on loop: HostRunLoop) {
        let late = HostRunLoop.Timer(ofHost: "drain deadline", fireAt: deadline) { [weak self] _ in
            MainActor.assumeIsolated {
                self?.whenLate?()
                self?.finish()
            }
        }
        self.late = late
        loop.add(late, to: .common)
    }

    /// Postpones the end of the drain until the hold is released, or the deadline has come.
    ///
    /// - Returns: What to release.
    public func hold() -> Hold {
        holds += 1
        // The hold keeps the drain alive.
        return Hold { [self] in
            holds -= 1
            if holds == 0 { finish() }
        }
    }

    /// Ends the drain without what was to follow it.
    func forgo() {
        whenDone = nil
        late?.invalidate()
        requests?.forget()
    }

    /// Ends the drain once, even if what follows it releases a hold, or runs the loop until the deadline.
    func finish() {
        let done = whenDone
        whenDone = nil
        late?.invalidate()
        done?()
    }
}

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
