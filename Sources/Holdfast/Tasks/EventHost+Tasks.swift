internal import CrashCapture
internal import CrashReports
internal import Glibc
internal import Logging
internal import RunLoops
internal import StallDetection
internal import Synchronization
internal import SystemPackage
internal import TaskBoundaries

extension EventHost {
    /// The host that serves while an async `main` waits.
    package private(set) static var started: EventHost?
    /// Whether a host is being made for a program with an async `main`.
    private(set) static var isStarting = false
    private static var hasExitHandler = false
    /// Protected by its lock.
    private nonisolated static let exiting = Mutex<Exiting?>(nil)

    /// What is done when the process exits: reports that wait are written.
    private struct Exiting: Sendable {
        let writer: ReportWriter
        let stalls: StallWatch?

        func finish() {
            // First: the main loop stands still from now on.
            stalls?.stop()
            writer.flush(limit: .seconds(5))
        }
    }

    /// Makes a host for a program with an async `main`, and has it serve while the program goes on.
    ///
    /// ```swift
    /// @main struct Server {
    ///     static func main() async throws {
    ///         try EventHost.start()
    ///         // … as ever, with `withFaultBoundary` around what answers a request.
    ///     }
    /// }
    /// ```
    ///
    /// The jobs of tasks run on a pool of Holdfast's from now on, so call it first. It takes no signals: SIGTERM and SIGINT stay with the
    /// program until it observes them (`onSignal(_:_:)`). Once the program has taken one, a fault that is not resumed ends the process by it
    /// instead of restarting it. It serves until the process ends, or until `stop()`. Call it once, in a process
    /// with an async `main`; elsewhere make a host and call `run()`.
    ///
    /// - Parameter configuration: The settings. By default the process goes on after a fault that was resumed: the host does not see what
    ///   other threads serve, so it cannot tell when a planned restart would cost nobody anything.
    /// - Returns: The host.
    /// - Throws: `EventHostError`.
    @discardableResult
    public static func start(_ configuration: Configuration = .keepServing) throws(EventHostError) -> EventHost {
        isStarting = true
        defer { isStarting = false }
        let host = try EventHost(configuration)
        try host.runTasks()
        host.capture.expectExit()
        if !host.standsByAtListener() { host.beginServing() }
        exiting.withLock { $0 = Exiting(writer: host.writer, stalls: host.stallWatch.watch) }
        // An async `main` returns into exit(3): nobody stops the host first.
        if !hasExitHandler {
            hasExitHandler = true
            addExitHandler()
        }
        started = host
        // The run that serves the main queue now goes on without the host: the next one has it.
        host.loop.stop()
        return host
    }

    /// Not isolated, as its closure must not be: any thread may call exit(3).
    private nonisolated static func addExitHandler() {
        atexit { EventHost.exiting.withLock { $0 }?.finish() }
    }

    /// Tells the service manager above, such as systemd or `holdfast run`, that the program serves: `READY=1` of sd_notify(3).
    ///
    /// `run()` does that by itself; a program with `start(_:)` calls this when its server listens. HoldfastHummingbird does it. From then on
    /// `WATCHDOG=1` is said as long as the main loop serves. Does nothing without a manager or a host. Callable from any thread.
    public nonisolated static func notifyReady() {
        HostRunLoop.main.perform { @MainActor in
            guard let host = started else { return }
            host.tellReady()
            host.listeners?.closeUnclaimed()
            ListenerHandover.noteWatchers()
        }
    }

    /// Whether this process is replaced in a moment: another one serves by now (`holdfast upgrade`), or it restarts when nothing is under way.
    ///
    /// For servers whose clients keep their connections: say `Connection: close` (RFC 9112, 9.6) in an answer of HTTP/1, and the client sends its
    /// next request to the next process. HoldfastHummingbird does it. Callable from any thread.
    public nonisolated static var isBeingReplaced: Bool { ListenerHandover.hasRested.load(ordering: .relaxed) }

    /// Whether another process serves while this one starts: it stands by, or takes over when it is ready (`holdfast upgrade`).
    ///
    /// So nobody waits for it, and it has the time to do beforehand what would make its first answers slow. HoldfastHummingbird does. Callable
    /// from any thread.
    public nonisolated static var anotherProcessServes: Bool { StandbyRole.anotherServes.load(ordering: .relaxed) }

    /// Adds a handler that is called on the main loop when this process is to accept no more connections, because another one does.
    package nonisolated static func onRest(_ handler: @escaping @Sendable () -> Void) {
        ListenerHandover.resting.withLock { $0.append(handler) }
    }

    /// Has the jobs of all tasks run on a pool of threads from which one that faults can be abandoned.
    ///
    /// For a program that calls `run()`, and has tasks on other threads than the main one. `start(_:)` does it by itself. Without it the first
    /// fault boundary starts the pool for the tasks in boundaries alone: they hop between two pools then, which takes time.
    ///
    /// - Throws: `EventHostError`, if no threads can be started.
    public func runTasks() throws(EventHostError) {
        try BoundaryHost.open(takesAll: true)
    }

    /// What the first boundary needs, on any thread, if nobody has called `runTasks()`.
    var boundaryOpener: BoundaryHost.Opener {
        BoundaryHost.Opener(
            parts: BoundaryHost.Parts(
                capture: capture,
                supervisor: supervisor,
                teller: teller,
                writer: writer,
                buried: buried,
                ward: ward,
                // Once, so that the hop costs nothing.
                noteService: { [weak self] in _ = Task { await self?.noteService() } }
            ),
            stackSize: configuration.advanced.taskStackSize,
            logger: configuration.logger,
            stallWatch: stallWatch
        )
    }
}

extension BoundaryHost.Opener {
    /// Starts the pool, and lets boundaries protect.
    ///
    /// Protected by the caller's lock (`BoundaryHost.open`).
    ///
    /// - Parameter takesAll: Whether the pool runs all tasks of the program, not only those in boundaries.
    /// - Throws: `EventHostError`, if no threads can be started.
    func open(takesAll: Bool) throws(EventHostError) {
        do {
            if TaskPool.running == nil {
                let extent = try TaskPool.start(stackSize: stackSize, takesAll: takesAll) { BoundaryHost.answer($0) }
                if takesAll, extent == .boundaries {
                    logger.notice(
                        "another executor has taken the runtime's tasks: only those in fault boundaries run on Holdfast's"
                    )
                }
            }
        } catch {
            throw EventHostError(error)
        }
        if !TaskPool.knowsRunners {
            logger.warning(
                "this Swift runtime runs tasks in a way that is not known: faults in fault boundaries are not resumed"
            )
        }
        watchWorkers()
        BoundaryHost.setParts(parts)
    }

    /// Has jobs of tasks watched that keep a thread of the pool for long.
    private func watchWorkers() {
        guard let monitor = stallWatch.monitor else { return }
        TaskPool.setBell { HostRunLoop.Progress.WatcherBell.ring() }
        do {
            try monitor.watchWorkers(TaskPool.mostWorkers) { index in
                let sight = TaskPool.worker(index)
                return StallMonitor.WorkerSight(number: sight.number, thread: sight.thread, isBusy: sight.isBusy)
            }
        } catch {
            logger.error("stalls of tasks are not watched: \(error)")
        }
    }
}

extension EventHost {
    /// What the tasks of fault boundaries and their children do, as text: how long each has run, where it is or waits, and who awaits that.
    ///
    /// `crashreport tasks` shows the same of a running process. Nobody is stopped for it, but for about 100 us each thread that runs one.
    /// It takes milliseconds, and longer for thousands of tasks. Callable from any thread.
    public nonisolated func describeTasks() -> String {
        TaskDumper(capture).dump().map { $0.lines.joined(separator: "\n") } ?? ""
    }

    /// Has the tasks logged when a signal comes.
    func observeTaskDumpSignal() throws(EventHostError) {
        guard let signal = configuration.advanced.taskDumpSignal else { return }
        try onSignal(signal) { [writer] _ in writer.ask(TaskAnswers.forLog) }
    }

    /// Runs the main loop once, with the host that was started, if there is one.
    fileprivate static func serveMain() {
        guard let host = started else {
            _ = HostRunLoop.main.run(in: .default, for: .seconds(1_000_000_000))
            return
        }
        host.serveOnce()
        if host.isStopping {
            host.endServing()
            started = nil
        }
    }
}

/// Runs the main loop for a program with an async `main`, instead of the runtime's own way to serve the main queue.
///
/// Called on the main thread, once, before the program's code (`main_drain.c`).
@_cdecl("holdfast_drain_main_queue")
func drainMainQueue() {
    MainActor.assumeIsolated {
        while true {
            EventHost.serveMain()
        }
    }
}
