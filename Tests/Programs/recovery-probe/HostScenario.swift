import FaultInjection
import Glibc
import Holdfast

/// Scenarios of signals and of restarts: `recovery-probe SCENARIO STORE ARGUMENT…`.
///
/// Unlike the others they make their host themselves, and go on in the processes after the first.
enum HostScenario: String {
    case signalStorm = "signal-storm"
    case signalSender = "signal-sender"
    case signalThreads = "signal-threads"
    case signalFields = "signal-fields"
    case signalsGivenBack = "signals-given-back"
    case signalChildren = "signal-children"
    case signalAcrossRestart = "signal-across-restart"
    case sentFault = "sent-fault"
    case image
    case scheduling
    case listener
    case connections
    case torn
    case lostDescriptor = "lost-descriptor"
    case names
    case stormedRestarts = "stormed-restarts"
    case failedRestart = "failed-restart"
    case withoutProc = "without-proc"
    case system
    case oldKernel = "old-kernel"
    case foreignTable = "foreign-table"
    case otherUser = "other-user"
    case madeUpTable = "made-up-table"
    case whoseTable = "whose-table"
    case samples
    case context
    case stalls
    case deadline
    case flood
    case crashLoops = "crash-loops"
    case quiet
    case log
    case store
    case failedStart = "failed-start"
    case unserved
    case state
    case ending
    case earlyStop = "early-stop"
    case cutSpool = "cut-spool"
    case sweep
    case refusedWriter = "refused-writer"
    case order
    case ownOrder = "own-order"
    case refusedWriters = "refused-writers"
    case withoutStandard = "without-standard"
    case sharedPort = "shared-port"
    case observations
    case boundaries

    /// Runs the scenario that the arguments name, if it is one of these, and ends the process, or says that `main` is to return.
    @MainActor
    static func runIfAsked() -> Bool {
        // Where proc(5) is not mounted, the standard library knows no arguments.
        let words = getenv("PROBE_ARGUMENTS").map { String(cString: $0).split(separator: " ").map(String.init) }
        let arguments = words ?? CommandLine.arguments
        guard arguments.count >= 3, let scenario = HostScenario(rawValue: arguments[1]) else { return false }
        do {
            try scenario.run(store: arguments[2], Array(arguments.dropFirst(3)))
            if scenario == .ending { return true }
            exit(0)
        } catch {
            Probe.say("error \(error)")
            exit(1)
        }
    }

    @MainActor
    private func run(store: String, _ arguments: [String]) throws {
        switch self {
        case .signalSender: try SignalScenarios.send(arguments)
        case .signalStorm: try SignalScenarios.storm(Self.host(store), arguments)
        case .signalThreads: try SignalScenarios.threads(Self.host(store))
        case .signalFields: try SignalScenarios.fields(Self.host(store))
        case .signalsGivenBack: try SignalScenarios.givenBack(store)
        case .signalChildren: try SignalScenarios.children(Self.host(store))
        case .signalAcrossRestart: try RestartScenarios.signals(Self.host(store), arguments)
        case .sentFault: try SentFaultScenarios.run(store, arguments)
        case .image: try RestartScenarios.image(Self.host(store), arguments)
        case .scheduling: try SchedulingScenarios.run(store, arguments)
        case .listener: try RestartScenarios.listener(Self.host(store), arguments)
        case .connections: try RestartScenarios.connections(Self.host(store), arguments)
        case .torn:
            try RestartScenarios.torn(Self.host(store) { $0.advanced.drainDeadline = .milliseconds(20) }, arguments)
        case .lostDescriptor: try RestartScenarios.lostDescriptor(Self.host(store), arguments)
        case .names: try RestartScenarios.names(Self.host(store), arguments)
        case .stormedRestarts: try RestartScenarios.stormed(Self.host(store), arguments)
        case .failedRestart: try RestartScenarios.failedRestart(Self.host(store))
        case .context: try ContextScenarios.run(store, arguments)
        case .withoutProc: try RestartScenarios.withoutProc(Self.host(store), arguments)
        case .system: try SystemScenarios.run(store, arguments)
        case .oldKernel: try RestartScenarios.oldKernel(Self.host(store), arguments)
        case .foreignTable: try RestartScenarios.foreignTable(Self.host(store))
        case .otherUser: try RestartScenarios.otherUser(Self.host(store), arguments)
        case .madeUpTable: try RestartScenarios.madeUpTable(arguments)
        // Where reports go is the environment's to say, if it may.
        case .whoseTable: RestartScenarios.whoseTable(try Self.host(store) { $0.store = nil })
        case .stalls: try StallScenarios.run(store, arguments)
        case .deadline: try DeadlineScenarios.run(store, arguments)
        case .crashLoops: try CrashLoopScenarios.run(store, arguments)
        case .flood: try FloodScenarios.run(store, arguments)
        case .log: try LogScenarios.run(store)
        case .quiet: try QuietScenarios.run(store, arguments)
        case .store: try StoreScenarios.run(store, arguments)
        case .failedStart: try StartScenarios.failed(store)
        case .unserved: try StartScenarios.unserved(store, arguments)
        case .state: try StateScenarios.run(store, arguments)
        case .ending: try EndingScenarios.run(store, arguments)
        case .earlyStop: Self.stopEarly(try Self.host(store))
        case .sweep: try SweepScenarios.run(store, arguments)
        case .cutSpool: try CutSpoolScenarios.run(store, arguments)
        case .refusedWriter: try StartScenarios.refusedWriter(store)
        case .order: try OrderScenarios.run(store, arguments)
        case .ownOrder: try OwnOrderScenarios.run(store, arguments)
        case .refusedWriters: try StartScenarios.refusedWriters(store)
        case .withoutStandard: try StartScenarios.withoutStandard(store)
        case .sharedPort: try SharedPortScenarios.run(store, arguments)
        case .observations: try ObservationScenarios.run(store, arguments)
        case .boundaries: try BoundaryScenarios.run(Self.host(store), arguments)
        case .samples: try SampleScenarios.run(store, arguments)
        }
    }

    /// Tells a host to stop before it runs.
    @MainActor
    private static func stopEarly(_ host: EventHost) {
        host.perform { Probe.say("served") }
        host.stop()
        host.run()
        Probe.say("returned")
        // That one is over: the next run serves.
        host.perform { host.stop() }
        host.run()
        Probe.say("over")
        host.close()
    }

    /// A host that resumes nothing but what the scenario says.
    @MainActor
    static func host(
        _ store: String,
        configure: (inout EventHost.Configuration) -> Void = { _ in }
    ) throws -> EventHost {
        var configuration = EventHost.Configuration.conservative
        configuration.store = store
        // What is looked at is not how long a verdict takes on a busy machine.
        configuration.advanced.verdictDeadline = .seconds(10)
        configuration.afterResume = .keepServing
        // Reports are counted, and a busy machine makes stalls.
        configuration.stallPolicy = nil
        // They restart many times in quick succession, on purpose.
        configuration.advanced.earlyEnds = nil
        configure(&configuration)
        return try EventHost(configuration)
    }
}

extension EventHost {
    /// Queues a callout.
    func perform(_ body: @escaping @MainActor () -> Void) {
        loop.performWithoutWaking(in: .default, label: "probe") { body() }
    }

    /// Queues a restart, by a fault that is not resumed or as planned.
    func performRestart(by kind: String) {
        perform {
            if kind == "fault" { Fault.wildPointer.commit() } else { self.restart() }
        }
    }
}
