internal import CRecoveryPoint
internal import CrashCapture
internal import CrashReports
internal import Glibc
internal import Logging
public import RunLoops
public import Supervision
internal import SystemPackage

/// Hosts an agent on the main loop and keeps it serving through its own faults.
///
/// Make one at the start of a synchronous `main`, put sources and timers on its loop, then call `run()`. A fault in a callout costs
/// that callout: it is abandoned, a crash report is written, and the loop goes on; where that would not be honest, the process
/// restarts in place. Abandoned frames are not unwound: what they owned is leaked, and their `defer` and `deinit` do not run.
@MainActor
public final class EventHost {
    /// What faults have cost this process so far.
    public struct Faults: Sendable, Hashable {
        /// Faults that were resumed in this process.
        public var resumed: Int
        /// Bytes of callout stacks that stay mapped for them.
        public var buriedBytes: Int
    }

    /// The version of Holdfast.
    public nonisolated static var version: String { HoldfastVersion.current }

    /// The main loop.
    public let loop = HostRunLoop.main
    /// What went before this process.
    public let history: RestartHistory

    let configuration: Configuration
    let capture: CrashCapture
    let supervisor: Supervisor
    let writer: ReportWriter
    let signalPort: SignalPort
    var kept: [String: CInt] = [:]
    private var faultHandlers: [@MainActor (CrashMessage) -> Void] = []
    var restartHandlers: [@MainActor () -> Void] = []
    private var isStopping = false
    var needsSweep = false
    var mustRestart = false
    var restartRefusedUntil = HostRunLoop.Instant.now
    var isTainted = false
    var isHealthy = false
    /// Waits for the nested runs to end, valid as long as it does.
    private var topObserver: HostRunLoop.Observer?
    private let buried: BuriedStacks

    /// Installs crash capture and prepares the main loop.
    ///
    /// One host a process, on the main thread. Ignores SIGPIPE from then on.
    ///
    /// - Parameter configuration: What the host is made with.
    /// - Throws: `EventHostError`.
    public init(_ configuration: Configuration = Configuration()) throws(EventHostError) {
        self.configuration = configuration
        history = RestartHistory(environment: ProcessEnvironment.values, pid: getpid())
        // A child that this process starts is not the one that was restarted.
        for variable in RestartHistory.variables { _ = unsafe unsetenv(variable) }
        let store = try Self.openStore(configuration)
        let rule = VerdictRule(
            policy: configuration.policy,
            otherwise: configuration.restartsInPlace && !history.isCrashLoop ? .restart : .terminate,
            restartsAfterEveryFault: configuration.afterFault == .restart,
            obstacle: CrashCapture.obstacleToResuming,
            pid: getpid()
        )
        do {
            supervisor = try Supervisor(rule: rule, budget: configuration.budget)
            signalPort = try SignalPort()
        } catch {
            throw EventHostError(error)
        }
        // The crash thread starts before there is a writer; no callout runs before both are there.
        let sink = FaultSink(supervisor: supervisor)
        do {
            capture = try CrashCapture(
                CrashCapture.Configuration(
                    spoolFolder: store.spoolPath.string,
                    deadline: configuration.verdictDeadline,
                    verdictAtDeadline: rule.otherwise,
                    heldSignals: history.heldSignals,
                    restarts: history.restarts,
                    version: Self.version
                ),
                decide: supervisor.decide(_:),
                resumed: sink.resumed(slot:fault:)
            )
        } catch {
            throw EventHostError(error)
        }
        writer = ReportWriter(capture: capture, store: store, logger: configuration.logger)
        sink.attach(writer)
        buried = BuriedStacks()
        try start()
    }

    private static func openStore(_ configuration: Configuration) throws(EventHostError) -> ReportStore {
        do throws(ReportStoreError) {
            var path = configuration.store
            if path == nil { path = try ReportStore.defaultPath(environment: ProcessEnvironment.values) }
            let store = ReportStore(path: path ?? "")
            try store.create()
            return store
        } catch {
            throw EventHostError(error)
        }
    }

    private func start() throws(EventHostError) {
        // A write to a connection whose peer is gone is that connection's EPIPE, not the end of the agent.
        signal(SIGPIPE, SIG_IGN)
        loop.calloutStackSize = configuration.calloutStackSize
        // On the thread that faulted, between the abandoned callout and the next: the runtime's text is cleared before it can be
        // taken for the next fault's, and the part of the stack below the fault goes back to the kernel.
        loop.setAbandonHandler { [capture, buried] callout in
            capture.clearMessages()
            buried.add(callout.stack.bury())
        }
        do {
            try writer.start()
        } catch {
            throw EventHostError(error)
        }
        do {
            try supervisor.attach(to: loop) { [weak self] message in
                MainActor.assumeIsolated { self?.receive(message) }
            }
            try signalPort.attach(to: loop)
        } catch {
            throw EventHostError(error)
        }
        if !capture.isPersistent {
            configuration.logger.error("no room for the spool file: a fault that ends the process will have no report")
        }
        prepareRestart(isHealthy: false)
        let healthy = HostRunLoop.Timer(label: "healthy", after: RestartHistory.healthyAfter) { [weak self] _ in
            MainActor.assumeIsolated { self?.prepareRestart(isHealthy: true) }
        }
        loop.add(healthy, to: .common)
        if history.restarts > 0 {
            configuration.logger.notice("restarted in place", metadata: ["restarts": "\(history.restarts)"])
        }
    }

    // MARK: Running

    /// Serves until `stop()` is called.
    ///
    /// The loop runs in its default mode. After a fault all of its modes run in short slices until a probation has passed
    /// (`ReentrySweep`).
    public func run() {
        isStopping = false
        // What came while the process before this one was replaced: its observers are in place by now.
        SignalEvents.release(history.heldSignals)
        while !isStopping {
            if mustRestart {
                restart()
            } else if needsSweep {
                needsSweep = false
                sweep()
            } else {
                // Longer than CFRunLoop's own notion of for ever (CFRunLoop.c, TIMER_INTERVAL_LIMIT).
                _ = loop.run(in: .default, for: .seconds(1_000_000_000))
            }
        }
        writer.flush(limit: .seconds(5))
    }

    /// Ends `run()` after the callout that is running.
    ///
    /// Reports that wait are written first.
    public func stop() {
        isStopping = true
        endRun()
    }

    /// Ends the run at the top: now, or as soon as the runs that are nested in it have ended.
    func endRun() {
        loop.stop()
        if loop.nesting > 1 { stopAtTop() }
    }

    /// Takes the handlers away and removes the spool file: call it last, when `run()` has returned.
    public func close() {
        writer.flush(limit: .seconds(5))
        capture.uninstall()
    }

    /// Waits until the reports of all faults so far are in the store.
    ///
    /// - Parameter limit: How long to wait at most.
    public func flushReports(within limit: Duration) {
        writer.flush(limit: limit)
    }

    /// Faults of this process so far.
    public var faults: Faults {
        Faults(resumed: supervisor.resumedFaults, buriedBytes: buried.bytes)
    }

    /// Adds a handler that is called on the main loop for every fault that was resumed.
    public func onFault(_ handler: @escaping @MainActor (CrashMessage) -> Void) {
        faultHandlers.append(handler)
    }

    /// Adds a handler that is called before a planned restart: hand over what must survive it.
    public func onRestart(_ handler: @escaping @MainActor () -> Void) {
        restartHandlers.append(handler)
    }

    /// Runs code in which a fault is never resumed, because it would leave something half done that others rely on.
    public nonisolated static func withCriticalSection<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        hf_critical_enter()
        defer { hf_critical_leave() }
        return try body()
    }

    // MARK: After a fault

    private func sweep() {
        let result = ReentrySweep().run(
            on: loop,
            faultCount: { supervisor.resumedFaults },
            shouldStop: { isStopping || mustRestart }
        )
        if result == .clean {
            configuration.logger.info("the loop is clean again", metadata: ["resumed": "\(faults.resumed)"])
        }
    }

    private func receive(_ message: CrashMessage) {
        configuration.logger.warning(
            "a fault was resumed",
            metadata: ["number": "\(message.number)", "signal": "\(message.signal)"]
        )
        needsSweep = true
        // The sweep runs all modes, so it begins where no run is active: at the top. A nested run is not ours to stop; the
        // observer waits until it has ended.
        if loop.nesting == 1 {
            loop.stop()
        } else {
            stopAtTop()
        }
        taint()
        guard message.item != supervisor.portItem else {
            configuration.logger.error("a handler of faults faulted itself; it is not told")
            return
        }
        for handler in faultHandlers { handler(message) }
    }

    private func stopAtTop() {
        guard topObserver?.isValid != true else { return }
        let observer = HostRunLoop.Observer(label: "sweep at the top", activities: .beforeTimers) {
            [loop] observer, _ in
            guard loop.nesting == 1 else { return }
            observer.invalidate()
            loop.stop()
        }
        topObserver = observer
        loop.add(observer, to: .common)
    }
}
