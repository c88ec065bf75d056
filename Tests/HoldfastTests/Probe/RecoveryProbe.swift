import Glibc
import Holdfast
import SystemPackage

/// A program that the tests of recovery run: `recovery-probe SCENARIO STORE`.
///
/// A scenario commits faults under a host and says on the standard output what became of the rest, a line each.
@main
enum RecoveryProbe {
    static func main() {
        guard CommandLine.arguments.count == 3, let scenario = Scenario(rawValue: CommandLine.arguments[1]) else {
            exit(64)
        }
        MainActor.assumeIsolated {
            do {
                try Probe(scenario, store: CommandLine.arguments[2]).run()
            } catch {
                Probe.say("error \(error)")
                exit(1)
            }
        }
    }
}

/// What a probe does.
enum Scenario: String {
    case exclusivity
    case outerAccess = "outer-access"
    case threadState = "thread-state"
    case nestedRun = "nested-run"
    case criticalSection = "critical-section"
    case criticalSectionOver = "critical-section-over"
    case outerCriticalSection = "outer-critical-section"
    case outsideOfCallouts = "outside-of-callouts"
    case otherThread = "other-thread"
    case mainActorTask = "main-actor-task"
    case detachedTask = "detached-task"
    case librarySandwich = "library-sandwich"
    case restartWhenQuiet = "restart-when-quiet"
    case terminate
    case budget
    case faultInFaultHandler = "fault-in-fault-handler"
    case faultInSignalHandler = "fault-in-signal-handler"
    case heapUnderRuntime = "heap-under-runtime"
    case forkedChild = "forked-child"
    case stopInNestedRun = "stop-in-nested-run"
}

/// A host with a scenario on its loop.
@MainActor
final class Probe {
    let host: EventHost
    let scenario: Scenario

    init(_ scenario: Scenario, store: String) throws {
        self.scenario = scenario
        var configuration = EventHost.Configuration()
        configuration.store = FilePath(store)
        configuration.afterFault = .keepGoing
        configuration.budget = .generous
        switch scenario {
        case .restartWhenQuiet: configuration.afterFault = .restartWhenQuiet
        case .terminate: configuration.restartsInPlace = false
        case .budget: configuration.budget = FaultBudget(perProcess: 2, perWindow: 10)
        default: break
        }
        host = try EventHost(configuration)
    }

    /// Runs the scenario; a process that was restarted only says so.
    func run() throws {
        guard host.history.restarts == 0 else {
            Self.say("restarted \(host.history.restarts)")
            host.close()
            return
        }
        try prepare()
        host.run()
        Self.say("resumed \(host.faults.resumed)")
        host.close()
    }

    private func prepare() throws {
        switch scenario {
        case .exclusivity: exclusivity()
        case .outerAccess: outerAccess()
        case .threadState: threadState()
        case .nestedRun: nestedRun()
        case .criticalSection: criticalSection()
        case .criticalSectionOver: criticalSectionOver()
        case .outerCriticalSection: outerCriticalSection()
        case .outsideOfCallouts: outsideOfCallouts()
        case .otherThread: otherThread()
        case .mainActorTask: mainActorTask()
        case .detachedTask: detachedTask()
        case .librarySandwich: librarySandwich()
        case .restartWhenQuiet: restartWhenQuiet()
        case .terminate: terminate()
        case .budget: budget()
        case .faultInFaultHandler: faultInFaultHandler()
        case .faultInSignalHandler: try faultInSignalHandler()
        case .heapUnderRuntime: heapUnderRuntime()
        case .forkedChild: forkedChild()
        case .stopInNestedRun: stopInNestedRun()
        }
    }

    /// Queues a callout of its own for each body, in this order.
    func perform(_ bodies: (@MainActor () -> Void)...) {
        for body in bodies {
            host.loop.perform(in: .default, label: "probe") { MainActor.assumeIsolated { body() } }
        }
    }

    /// Queues the end.
    func finish() {
        perform { [host] in host.stop() }
    }

    /// Writes a line at once: a process that is replaced or killed keeps nothing back.
    nonisolated static func say(_ line: String) {
        _ = try? FileDescriptor.standardOutput.writeAll((line + "\n").utf8)
    }
}
