internal import CrashCapture
internal import LinuxSystem
internal import Logging
internal import RunLoops
internal import Synchronization
internal import SystemPackage

/// Sees to it that a signal which nobody serves acts as if nobody observed it: an agent that never runs its loop must still end by SIGTERM.
final class SignalWarden: @unchecked Sendable {
    /// Whether somebody serves signals.
    private enum State {
        /// Not yet: they wait.
        case awaited
        /// Somebody has begun to.
        case served
        /// Nobody did in time: they act as before.
        case givenUp
    }

    /// Held while handlers are installed, and while they are given back.
    private let monitor = Monitor()
    /// Protected by `monitor`.
    private var state = State.awaited
    private let isWatching = Atomic<Bool>(false)
    private let end = Semaphore()
    private let logger: Logger
    /// How long signals may wait for the loop to run.
    private let patience: Duration

    init(patience: Duration, logger: Logger) {
        self.patience = patience
        self.logger = logger
    }

    /// Notes that the main loop runs from now on.
    ///
    /// On the main thread.
    func serve() {
        monitor.lock()
        if case .givenUp = state { SignalEvents.takeUp() }
        state = .served
        monitor.unlock()
        end.signal()
    }

    /// Observes a signal, and begins to watch whether anybody will serve it.
    ///
    /// On the main thread.
    func observing<Value, Failure: Error>(_ observe: () throws(Failure) -> Value) throws(Failure) -> Value {
        if isAwaited { watch() }
        monitor.lock()
        defer { monitor.unlock() }
        let value = try observe()
        if case .givenUp = state { SignalEvents.giveUp() }
        return value
    }

    private var isAwaited: Bool {
        monitor.lock()
        defer { monitor.unlock() }
        if case .awaited = state { return true }
        return false
    }

    /// Starts the thread that waits for the loop to run, once.
    private func watch() {
        guard !isWatching.exchange(true, ordering: .relaxed) else { return }
        // Without the thread, signals wait: no reason not to start.
        try? DetachedThread.start(name: "holdfast-signals") { [self] in
            DetachedThread.rest { end.wait(atMost: patience) }
            // Who runs the loop without the host's help serves signals, too.
            guard HostRunLoop.main.passCount == 0, isAwaited else { return }
            logger.error(
                """
                nobody runs the main loop, so signals have the effect again that they had before onSignal: call host.run() on the main \
                thread, from a synchronous main
                """,
                metadata: ["after": "\(patience.inWords)"]
            )
            monitor.lock()
            defer { monitor.unlock() }
            guard case .awaited = state else { return }
            state = .givenUp
            SignalEvents.giveUp()
        }
    }
}
