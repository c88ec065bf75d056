internal import CRecoveryPoint
internal import CrashCapture
internal import CrashReports
internal import Glibc
internal import LinuxSystem
internal import Logging
public import RunLoops
public import StallDetection
internal import Synchronization
internal import SystemPackage
internal import TaskBoundaries

/// Hosts an agent on the main loop and keeps it serving through its own faults.
///
/// Make one at the start of a synchronous `main`, put sources and timers on its loop, then call `run()`. A fault in a callout costs that
/// callout: it is abandoned, a crash report is written, and the loop goes on. If going on would not be safe, the process restarts.
/// Abandoned frames are not unwound: what they owned is leaked, and their `defer` and `deinit` do not run; cleanups do
/// (`HostRunLoop.addCleanup`). Callouts of other threads' loops are recovered the same way; a fault anywhere else drains and restarts the
/// process.
@MainActor
public final class EventHost {
    /// The host's counters.
    public struct Statistics: Sendable, Hashable {
        /// Faults that were resumed.
        public var resumedFaults: Int
        /// Bytes of callout stacks that stay mapped for them.
        public var buriedBytes: Int
        /// Descriptors that abandoned callouts have left open: an estimate.
        package var lostDescriptors: Int
        /// Stalls, without those that the policies of their items allow.
        public var stalls: Int
        /// Elements of `faults`, `signals(_:)` and `stalls` that were dropped because nobody took them in time.
        public var dropped: Int
        /// How regularly the main loop ticked; nil without `StallPolicy.tick`.
        public var ticks: TickStatistics?
    }

    /// The version of Holdfast.
    package nonisolated static var version: String { HoldfastVersion.current }

    /// The main loop.
    public nonisolated let loop = HostRunLoop.main
    /// What went before this process, the faults of the one before it among them.
    package internal(set) var history: RestartHistory
    /// How often this process was restarted in place.
    public var restarts: Int { history.restarts }
    /// Why the process before this one was replaced.
    public var restartReason: RestartReason { history.reason }
    /// Whether the process starts as ever, or in safe mode, and without which items.
    package internal(set) var stage: StartStage
    /// Whether the process goes without what faulted when the processes before it ended.
    ///
    /// The main loop withholds the items with these labels; from `run()` on only those that
    /// can be told apart are named. Ports of sockets and message ports never are: others reach the program by them. After
    /// `Configuration.Advanced.healthyAfter` it is over, and they are tried again.
    public var isInSafeMode: Bool { stage != .normal }

    let configuration: Configuration
    let capture: CrashCapture
    let sink: FaultSink
    let supervisor: Supervisor
    let writer: ReportWriter
    let teller: FaultTeller
    let signalPort: SignalPort
    let signalWarden: SignalWarden
    let kept: KeptDescriptors
    let notifier: ServiceNotifier
    let standby: StandbyRole?
    private(set) var listeners: ListenerHandover?
    let faultHandlers = Handlers<CrashMessage>()
    let restartHandlers = Handlers<Void>()
    let drainHandlers = Handlers<Drain>()
    /// The process that served when this one began, and is to hand over to it.
    let predecessor: pid_t?
    /// Whether it hands over to its successor as soon as nothing would be lost.
    var isLeaving = false
    /// Who takes what the process before this one hands over.
    var receivers: [(String, FileDescriptor, [UInt8]) -> Bool] = []
    let stallHandlers = StallHandlers()
    var stallObservations: [Observation] = []
    let droppedElements = Tally()
    var drain: Drain?
    var isStopping = false
    var needsSweep = false
    /// How many faults had been resumed when the log last said that the loop is clean.
    var toldClean = 0
    var mustRestart = false
    /// Whether an order to end has kept a fault from restarting the process.
    var hasForgone = false
    /// Whether an order to end has come for the second time: nothing restarts the process any more.
    var endsForGood = false
    var restartRefusedUntil = HostRunLoop.Instant.now
    var isTainted = false
    /// How many holds keep a planned restart back.
    var holds = 0
    /// The connection that was found open when the host last looked whether it is quiet.
    weak var openPort: HostRunLoop.PortSource?
    var isHealthy = false
    /// How far the process has come.
    var phase = ProcessPhase.starting
    /// How long `run()` waits before it serves.
    var startDelay = Duration.zero
    /// Whether the log says that a fault of another thread will restart the process.
    var isReplacementTold = false
    /// Whether `run()` waits before it serves.
    var isWaiting = false
    /// Fires when the process has lived long enough.
    var healthyTimer: HostRunLoop.Timer?
    /// Fires when safe mode is over.
    var safeModeTimer: HostRunLoop.Timer?
    /// Whether the first run has begun.
    var hasBegun = false
    var messagePort: HostRunLoop.PortSource?
    /// Waits for the nested runs to end.
    var topObserver: HostRunLoop.Observer?
    var census = DescriptorCensus()
    let ward: QuarantineWard
    let inspector: CodeInspector
    /// How stalls are watched for, for any thread.
    nonisolated let stallWatch = StallWatchBox()
    private let abandonedItems = AbandonedItems()
    /// Fires when the next cool-down is over.
    var dischargeTimer: HostRunLoop.Timer?
    /// Fires when the log line of a fault is late.
    var lateLine: HostRunLoop.Timer?
    let buried = Tally()
    nonisolated let deadlines: DeadlineWatch
    nonisolated let storeHealth: StoreHealth
    let storePlace: StorePlace

    /// Installs crash capture and prepares the main loop.
    ///
    /// One host a process, on the main thread. From then on SIGPIPE does nothing. If it throws, it leaves no handler, thread or spool file,
    /// and another host can be made.
    ///
    /// - Parameter configuration: The settings.
    /// - Throws: `EventHostError`.
    public init(_ configuration: Configuration = .conservative) throws(EventHostError) {
        let begin = HostRunLoop.Instant.now
        let configuration = configuration.withPrintableLog
        self.configuration = configuration
        let environment = ProcessEnvironment.values
        var history = RestartHistory(environment: environment, pid: getpid())
        kept = KeptDescriptors(environment: environment, isRestarted: history.restarts > 0)
        // Others hold them, too: without them the next process could not listen there again.
        let handedDown = HandedDownSockets.all(environment: environment).map(\.number)
        for number in handedDown { kept.keepHandedDown(number) }
        notifier = ServiceNotifier(environment: environment)
        standby = StandbyRole(environment: environment, kept)
        // A child that the program starts inherits the variable, but not the sockets.
        predecessor = handedDown.isEmpty ? nil : environment[StandbyRole.predecessorVariable].flatMap { pid_t($0) }
        let anotherServes = predecessor != nil || standby?.isWaiting == true
        StandbyRole.anotherServes.store(anotherServes, ordering: .relaxed)
        // A child that this process starts inherits the variable, but was not restarted.
        let inherited = Self.takeOverSpool(environment, isRestarted: history.restarts > 0)
        for variable in Self.carriedVariables + [StandbyRole.predecessorVariable] { _ = unsafe unsetenv(variable) }
        storePlace = StorePlace(
            configuration.store.map { FilePath($0) },
            environment: environment,
            isRestarted: history.restarts > 0,
            limits: configuration.advanced.reportLimits
        )
        storeHealth = StoreHealth(cause: storePlace.problem?.description, logger: configuration.logger)
        signalWarden = SignalWarden(patience: configuration.advanced.signalPatience, logger: configuration.logger)
        let store = storePlace.store
        try Self.open(storePlace, storeHealth, configuration)
        let past = PastFaults(
            store: store,
            instance: Self.instance(configuration, controlGroup: CrashCapture.controlGroup),
            isRestarted: history.restarts > 0
        )
        for fault in past.ofPredecessor { history.add(fault) }
        let assessment = Self.assess(&history, past, configuration)
        self.history = history
        stage = assessment.stage
        let rule = VerdictRule(
            policy: configuration.recoveryPolicy,
            otherwise: configuration.restart.verdict,
            obstacle: CrashCapture.obstacleToResuming,
            pid: getpid()
        )
        do {
            supervisor = try Supervisor(
                rule: rule,
                budget: configuration.budget,
                quarantine: configuration.quarantinePolicy,
                policies: ItemPolicies.recovery
            )
            signalPort = try SignalPort(configuration.quarantinePolicy, budget: configuration.budget)
        } catch {
            throw EventHostError(error)
        }
        ward = QuarantineWard(supervisor)
        // The crash thread starts before there is a writer. No callout runs before both are there.
        sink = FaultSink(supervisor: supervisor)
        inspector = CodeInspector(
            trusting: configuration.recoveryPolicy,
            deadline: configuration.advanced.verdictDeadline
        )
        inspector.open(
            shelf: storePlace.problem == nil
                ? CodeInspector.Shelf(get: store.kept(_:limit:), put: { [store] in store.keep($1, as: $0) }) : nil
        )
        var settings = CrashCapture.Configuration(
            spoolFolder: store.spoolPath.string,
            deadline: configuration.advanced.verdictDeadline,
            verdictAtDeadline: rule.otherwise,
            drainDeadline: configuration.advanced.drainDeadline,
            exitCode: configuration.restart.exitCode,
            heldSignals: history.heldSignals,
            restarts: history.restarts,
            capturesThreads: configuration.advanced.capturesThreads,
            capturesMemory: configuration.advanced.capturesMemory,
            version: Self.version
        )
        settings.requiresSpool = configuration.advanced.requiresStore
        settings.storeLimits = StoreLimits(configuration.advanced.reportLimits ?? .unlimited)
        Self.apply(configuration.privacy, environment, to: &settings)
        startDelay = Self.waitBeforeStart(assessment, configuration, holding: history.heldSignals)
        // Counted with the wait: else processes that wait side by side would seem to follow one another.
        settings.elapsed = begin.duration(to: .now)
        do {
            capture = try CrashCapture(
                settings,
                inspection: inspector.inspection,
                decide: supervisor.decide(_:),
                mayAbandon: supervisor.mayAbandon(_:),
                decideBeforeWalk: supervisor.decideBeforeWalk(_:),
                decided: sink.decided(fault:decision:),
                recorded: sink.recorded(slot:),
                succeeded: sink.succeeded,
                asked: sink.asked(number:),
                prepare: { [supervisor, inspector] view in
                    CrashCapture.describeControlGroup()
                    supervisor.warmUp()
                    inspector.attach(view)
                }
            )
        } catch {
            throw EventHostError(error)
        }
        // Nobody else's child: an environment that was inherited counts no restarts.
        if history.restarts > 0, let holder = environment[CrashCapture.memoryHolderVariable].flatMap({ CInt($0) }) {
            capture.setMemoryHolder(holder)
        }
        teller = FaultTeller(capture: capture, health: storeHealth, logger: configuration.logger)
        let isRestarted = history.restarts > 0
        writer = ReportWriter(
            capture: capture,
            store: store,
            health: storeHealth,
            teller: teller,
            logger: configuration.logger,
            inherited: inherited,
            begin: { [inspector, stallWatch] in
                inspector.giveWay(atMost: .milliseconds(100))
                stallWatch.start(logger: configuration.logger)
            },
            prepare: { [inspector] in
                // On the writer's thread: nobody waits for these files.
                CrashCapture.awaitCrashThread()
                if !isRestarted { Self.warnIfNoStackIsWalked(inspector, configuration) }
                CrashCapture.describeContainer()
                inspector.warmUp(logger: isRestarted ? nil : configuration.logger)
                TaskPool.expect(slowFaults: false)
            },
            hasten: inspector.hasten
        )
        TaskPool.expect(slowFaults: true)
        sink.attach(writer)
        deadlines = Self.deadlineWatch(configuration, supervisor)
        do throws(EventHostError) {
            try start()
        } catch {
            takeBack()
            throw error
        }
        ItemPolicies.setHost(
            ItemPolicies.Host(supervisor: supervisor, ward: ward, deadlines: deadlines, logger: configuration.logger)
        )
        BoundaryHost.setOpener(boundaryOpener)
        listeners = ListenerHandover(
            kept,
            handedDown: handedDown,
            keepsOwn: Self.isStarting,
            logger: configuration.logger
        ) { [weak self] in
            guard let self else { return }
            prepareRestart(isHealthy: isHealthy)
            // A server of the program's listens: it has started.
            inspector.noteServing()
        }
        ListenerHandover.rested = { [weak self] in self?.notifier.noteRest() }
        notifier.link.succeeded = { [weak self] in self?.leaveToSuccessor() }
        notifier.link.received = { [weak self] name, entry in self?.receive(entry, named: name) }
        notifier.link.standbyChanged = { [weak self] socket, serial in
            self?.capture.setStandbyLink(socket, serial: serial)
            self?.offerStandby()
        }
        notifier.link.closes = { [weak self] end in
            self?.kept.giveUpLink(end)
            self?.offerStandby()
        }
        notifier.link.ended = { [weak self] in self?.sayThatItStandsBy() }
        sayHowItStarted()
    }

    private static func apply(
        _ privacy: PrivacyPolicy,
        _ environment: [String: String],
        to settings: inout CrashCapture.Configuration
    ) {
        CrashContext.redaction = privacy.redaction
        settings.tellingArguments = ArgumentRedaction(policy: privacy.arguments, redaction: privacy.redaction).redact
        settings.told = privacy.told(of: environment)
    }

    /// Makes the store, or says why there is none.
    private static func open(
        _ place: StorePlace,
        _ health: StoreHealth,
        _ configuration: Configuration
    ) throws(EventHostError) {
        do throws(ReportStoreError) {
            if let problem = place.problem { throw problem }
            try place.store.create()
        } catch {
            if configuration.advanced.requiresStore { throw EventHostError(error) }
            health.failed(error.description)
        }
    }

    private func start() throws(EventHostError) {
        // A write to a connection whose peer has gone fails with EPIPE, and must not end the agent. SIGPIPE gets a handler that does
        // nothing, because execve(2) would keep it ignored in children.
        do {
            try signalPort.discard(SIGPIPE)
        } catch {
            throw EventHostError(error)
        }
        loop.calloutStackSize = configuration.advanced.calloutStackSize
        installAbandonHandler()
        if case .safeMode(let labels) = stage {
            sayWhatIsLeftOut("starting in safe mode", labels)
            loop.withhold(itemsLabelled: labels, sparingSockets: true)
        }
        do {
            messagePort = try supervisor.attach(to: loop) { [weak self] message in
                MainActor.assumeIsolated { self?.receive(message) }
            }
            try signalPort.attach(to: loop, of: self)
            try deadlines.watch(loop)
        } catch {
            throw EventHostError(error)
        }
        try observeTaskDumpSignal()
        watchForStalls()
        do {
            // The last that may fail: its thread never ends.
            try writer.start()
        } catch {
            throw EventHostError(error)
        }
        prepareRestart(isHealthy: false)
        watchHealth()
    }

    /// Undoes what a failed start has done.
    private func takeBack() {
        stallWatch.monitor?.stop()
        deadlines.stop()
        HostRunLoop.setAbandonWitness(nil)
        supervisor.detach()
        signalPort.close()
        capture.withdraw()
    }

    private func watchForStalls() {
        guard let policy = configuration.stallPolicy else { return }
        do {
            stallWatch.watch = try StallWatch(
                policy,
                telling: stallHandlers,
                on: loop,
                capture: capture,
                capturesThreads: configuration.advanced.capturesThreads,
                store: storePlace.problem == nil ? writer.store : nil,
                logger: configuration.logger,
                abandonedItems: abandonedItems,
                dumpTasks: { [capture] in TaskDumper(capture).dumpUnlessEmpty() }
            )
        } catch {
            configuration.logger.error("stalls are not watched: \(error)")
        }
    }

    /// Sets what is done on the thread that faulted, between the abandoned callout and the next one, on any loop.
    ///
    /// It clears the runtime's text before that is taken for the next fault's. It gives the unused part of the stack back to the kernel. It
    /// takes an item that must not be served again out of its loop before it can be.
    private func installAbandonHandler() {
        let abandonedItems = configuration.stallPolicy == nil ? nil : abandonedItems
        let signalPort = signalPort
        HostRunLoop.setAbandonWitness { [capture, buried, supervisor, ward] callout in
            abandonedItems?.add(callout.item)
            capture.clearMessages()
            // The mask is that of the fault: nobody else would unblock what the callout had blocked.
            if callout.loop === HostRunLoop.main { SignalEvents.letThrough() }
            if CrashCapture.isOverdue(facts: callout.stack.faultFacts) { Self.settleInterruptedThread() }
            if CrashCapture.isQuarantined(facts: callout.stack.faultFacts) { ward.admit(callout) }
            let bytes = callout.stack.bury()
            buried.add(bytes)
            supervisor.noteCost(bytes: bytes)
            guard callout.loop === HostRunLoop.main, !callout.isCleanup else { return }
            MainActor.assumeIsolated {
                if callout.item == signalPort.port?.identifier { signalPort.noteAbandoned(nesting: callout.nesting) }
            }
        }
    }
}
