internal import RunLoops
internal import Synchronization

/// Keeps a drain from its end while tasks in fault boundaries come to theirs: their clients wait for answers.
///
/// For a process that another one has succeeded, so that nobody else waits for it. Those that wait for what has faulted, an actor or a lock,
/// never end. So it is over when none has ended for a while.
@MainActor
final class RequestsUnderWay {
    /// How long none has ended when the others are given up.
    static let patience: Duration = .milliseconds(250)

    private var fewest = BoundaryHost.running.load(ordering: .acquiring)
    private var end = HostRunLoop.Instant.now.advanced(by: patience)
    private var timer: HostRunLoop.Timer?
    /// How often connections are looked for that were accepted for an event loop that stands still.
    private var looks: Int

    /// - Parameter thread: The thread that has faulted.
    init(afterFaultOf thread: CInt) {
        looks = ListenerHandover.isEventLoop(thread: thread) ? 2 : 0
    }

    /// Holds a drain back.
    func hold(_ drain: Drain, on loop: HostRunLoop) {
        // One may have ended a moment ago, and have an answer to write.
        guard BoundaryHost.isOpen else { return }
        let hold = drain.hold()
        let interval: Duration = .milliseconds(2)
        let timer = HostRunLoop.Timer(
            ofHost: "requests under way",
            fireAt: .now.advanced(by: interval),
            repeating: interval
        ) {
            [weak self] _ in
            MainActor.assumeIsolated {
                guard let self else { return }
                if self.looks > 0 {
                    self.looks -= 1
                    _ = ListenerHandover.endUnwatchedConnections()
                }
                guard self.areOver else { return }
                self.forget()
                hold.release()
            }
        }
        self.timer = timer
        loop.add(timer, to: .common)
    }

    /// Looks no more.
    func forget() {
        timer?.invalidate()
        timer = nil
    }

    private var areOver: Bool {
        let now = HostRunLoop.Instant.now
        let running = BoundaryHost.running.load(ordering: .acquiring)
        // Each may have an answer to write when its boundary has ended, the last one too.
        if running < fewest { (fewest, end) = (running, now.advanced(by: Self.patience)) }
        return now >= end
    }
}
