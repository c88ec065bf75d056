public import RunLoops

/// The time that a process has to bring what is healthy to an end before another takes its place.
///
/// Given to the handlers of `EventHost.onDrain(_:)`. The process is replaced when every hold was released, and at the deadline in any
/// case.
///
/// After a fault of another thread (`parkedThread`) that thread's own work never ends. A graceful shutdown which waits for all work
/// waits for it, too, and then always until the deadline. So wait for what this thread serves, or set yourself a time with
/// `end(within:)`. Do not close a listening socket that the next process makes anew: keep it (`EventHost.keepAcrossRestart`), and
/// who connects meanwhile waits instead of being refused.
@MainActor
public final class Drain {
    /// Why the process is going to be replaced.
    public enum Reason: Sendable, Hashable {
        /// A thread that cannot be resumed has faulted, and stands still until then: what it holds stays held.
        case fault
        /// It was planned: after a fault that was resumed, or by request.
        case planned
    }

    /// Why the process is going to be replaced.
    public let reason: Reason
    /// When it is replaced, whoever still holds it: `onRestart` handlers are called then.
    ///
    /// Where a thread stands still, it goes by the same time, and replaces the process itself a second later if the main loop did not.
    public private(set) var deadline: HostRunLoop.Instant
    /// The thread that has faulted and stands still, as gettid(2) has it; nil when the drain was planned, and where it is not known.
    ///
    /// What it was doing is never finished: nobody should wait for it.
    public let parkedThread: CInt?
    private var holds = 0
    private var whenDone: (@MainActor () -> Void)?
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

    /// Brings the deadline forward, for what may never end; a later one than `deadline` changes nothing.
    ///
    /// - Parameter limit: How long from now it may go on.
    public func end(within limit: Duration) {
        let earlier = HostRunLoop.Instant.now.advanced(by: limit)
        guard earlier < deadline else { return }
        deadline = earlier
        late?.nextFireDate = earlier
    }

    /// Ends it at its deadline, on a loop.
    func keepTime(on loop: HostRunLoop) {
        let late = HostRunLoop.Timer(ofHost: "drain deadline", fireAt: deadline) { [weak self] _ in
            MainActor.assumeIsolated { self?.finish() }
        }
        self.late = late
        loop.add(late, to: .common)
    }

    /// Postpones the end of the drain until the hold is released, or the deadline has come.
    ///
    /// - Returns: What to release.
    public func hold() -> Hold {
        holds += 1
        // It keeps the drain.
        return Hold { [self] in
            holds -= 1
            if holds == 0 { finish() }
        }
    }

    /// Ends it, and does nothing of what was to be done then.
    func forgo() {
        whenDone = nil
        late?.invalidate()
    }

    /// Ends the drain, once: also where what is done then releases a hold, or runs the loop until the deadline.
    func finish() {
        let done = whenDone
        whenDone = nil
        late?.invalidate()
        done?()
    }
}
