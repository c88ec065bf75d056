import CFaultInjection
import FaultInjection
import Glibc
import Holdfast
import Logging
import SystemPackage

/// A program that the tests of recovery run: `recovery-probe SCENARIO STORE`.
///
/// A scenario commits faults under a host and says on the standard output what became of the rest, a line each.
@main
enum RecoveryProbe {
    @MainActor static func main() {
        if HostScenario.runIfAsked() { return }
        guard CommandLine.arguments.count == 3, let scenario = Scenario(rawValue: CommandLine.arguments[1]) else {
            exit(64)
        }
        do {
            try Probe(scenario, store: CommandLine.arguments[2]).run()
        } catch is EventHostError {
            Probe.say("no host")
            exit(1)
        } catch {
            Probe.say("error \(error)")
            exit(1)
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
    case overflowOnPlainThread = "overflow-on-plain-thread"
    case overflowOnDispatchWorker = "overflow-on-dispatch-worker"
    case overflowOnPoolThread = "overflow-on-pool-thread"
    case signalStacksAreFreed = "signal-stacks-are-freed"
    case simultaneousFaults = "simultaneous-faults"
    case reloadedLibrary = "reloaded-library"
    case faultsDuringVerdict = "faults-during-verdict"
    case heldMutex = "held-mutex"
    case heldReadLock = "held-read-lock"
    case heldSwiftMutex = "held-swift-mutex"
    case heldSwiftMutexGlobal = "held-global-swift-mutex"
    case releasedLocks = "released-locks"
    case faultInHandler = "fault-in-handler"
    case cxxException = "cxx-exception"
    case faultInReportWriter = "fault-in-report-writer"
    case drain
    case drainDeadline = "drain-deadline"
    case drainNeverReturns = "drain-never-returns"
    case drainClock = "drain-clock"
    case drainEndsOnce = "drain-ends-once"
    case threadFaultWithoutRun = "thread-fault-without-run"
    case brokenHeapOnThread = "broken-heap-on-thread"
    case loopThread = "loop-thread"
    case quarantine
    case quarantineOnLoopThread = "quarantine-on-loop-thread"
    case afterTheRun = "after-the-run"
    case crashLoop = "crash-loop"
    case exitForRestart = "exit-for-restart"
    case cleanups
    case usedMutex = "used-mutex"
    case usedMutexInNestedRun = "used-mutex-in-nested-run"
    case itemPolicy = "item-policy"
    case objection
    case faultInPolicy = "fault-in-policy"
    case descriptorBudget = "descriptor-budget"
    case heldSwiftMutexDeepDown = "held-swift-mutex-deep-down"
    case exchangedLocks = "exchanged-locks"
    case crossedLocks = "crossed-locks"
    case usedMutexBesideFlags = "used-mutex-beside-flags"
    case quarantineEndedEarly = "quarantine-ended-early"
    case ownAbandonHandler = "own-abandon-handler"
    case faultsInSignalHandler = "faults-in-signal-handler"
    case signalHandlerTriedAgain = "signal-handler-tried-again"
    case drainEndWithin = "drain-end-within"
    case wordsOfAnother = "words-of-another"
    case blockedSignal = "blocked-signal"
    case blockingPolicy = "blocking-policy"
    case taskAroundNestedRun = "task-around-nested-run"
    case clearedMessages = "cleared-messages"
    case usedMutexAgain = "used-mutex-again"
    case calledBack = "called-back"
    case calledBackByTrustedModule = "called-back-by-trusted-module"
    case calledBackByTrustedFunction = "called-back-by-trusted-function"
    case calledBackInlined = "called-back-inlined"
    case calledBackInlinedTwice = "called-back-inlined-twice"
    case calledBackInlinedByTrustedModule = "called-back-inlined-by-trusted-module"
    case calledBackInlinedByTrustedFunction = "called-back-inlined-by-trusted-function"
    case ownInlinedFunction = "own-inlined-function"
    case protectedCall = "protected-call"
    case ownCode = "own-code"
    case ownCFunction = "own-c-function"
}

/// A host with a scenario on its loop.
@MainActor
final class Probe {
    let host: EventHost
    let scenario: Scenario
    /// What must live as long as the probe.
    var kept: [HostRunLoop.LoopThread] = []

    init(_ scenario: Scenario, store: String) throws {
        self.scenario = scenario
        var configuration = EventHost.Configuration.conservative
        configuration.store = store
        configuration.afterResume = .keepServing
        configuration.budget = .generous
        // Reports are counted, and a busy machine makes stalls.
        configuration.stallPolicy = nil
        // What is looked at is not how long a verdict takes on a busy machine.
        configuration.advanced.verdictDeadline = .seconds(10)
        switch scenario {
        case .restartWhenQuiet: configuration.afterResume = .restartWhenQuiet
        case .terminate: configuration.restart = .never
        case .reloadedLibrary: Plugin.load("PLUGIN_ONE")
        case .budget: configuration.budget = FaultBudget(perProcess: 2, perWindow: 10)
        case .drainDeadline, .drainNeverReturns, .drainClock, .drainEndsOnce:
            // Long enough for a busy machine to begin the drain.
            configuration.advanced.drainDeadline = .seconds(5)
        case .drainEndWithin: configuration.advanced.drainDeadline = .seconds(36_000)
        case .faultsInSignalHandler:
            configuration.budget.perItem = 3
            configuration.advanced.quarantine = .forever
        case .quarantine, .quarantineOnLoopThread, .quarantineEndedEarly, .ownAbandonHandler, .signalHandlerTriedAgain:
            configuration.budget.perItem = 3
            configuration.advanced.quarantine = BackOff(first: .milliseconds(50), longest: .seconds(3600))
            configuration.advanced.quarantineTrials = 1
        case .crashLoop:
            configuration.advanced.startDelay = BackOff(first: .milliseconds(1), longest: .milliseconds(5))
            configuration.givesUpAfter = 3
        case .threadFaultWithoutRun: configuration.advanced.drainDeadline = .seconds(20)
        case .exitForRestart: configuration.restart = .exit(75)
        case .objection:
            configuration.recoveryPolicy = .default.objecting { $0.signal == SIGFPE ? "no arithmetic here" : nil }
        case .faultsDuringVerdict:
            configuration.recoveryPolicy = .default.objecting(Self.lateObjection)
            // What is looked at is not how long a verdict takes on a busy machine.
            configuration.advanced.verdictDeadline = .seconds(60)
        case .faultInPolicy: configuration.recoveryPolicy = .default.objecting(Self.faultingObjection)
        case .blockingPolicy:
            configuration.recoveryPolicy = .default.objecting(Self.blockingObjection)
            configuration.advanced.verdictDeadline = .seconds(5)
        case .descriptorBudget:
            configuration.budget.lostDescriptors = 10
            configuration.advanced.quarantine = nil
        case .calledBackByTrustedModule, .calledBackInlinedByTrustedModule:
            configuration.recoveryPolicy.trustedModules = ["CFaultInjection"]
        case .calledBackByTrustedFunction, .calledBackInlinedByTrustedFunction:
            configuration.recoveryPolicy.trustedFunctions = ["hf_call_b*"]
        case .faultInReportWriter: configuration.logger = Logger(label: "probe") { _ in FaultingLog() }
        default: break
        }
        host = try EventHost(configuration)
        Self.refuseReads()
    }

    /// Takes from the process what handlers read memory by, as far as it was asked for.
    private static func refuseReads() {
        let refused = getenv("PROBE_REFUSES").map { String(cString: $0) } ?? ""
        if refused.contains("calls"), hf_refuse_memory_reads() != 0 { say("no filter") }
        if refused.contains("files"), hf_close_memory_files() != 1 { say("no file") }
    }

    /// Runs the scenario; a process that was restarted only says so.
    func run() throws {
        if scenario == .crashLoop { return runInCrashLoop() }
        guard host.restarts < (scenario == .faultInReportWriter ? 2 : 1) else {
            Self.say("restarted \(host.restarts)")
            host.close()
            return
        }
        try prepare()
        host.run()
        if scenario == .afterTheRun { Fault.nilUnwrap.commit() }
        Self.say("resumed \(host.statistics.resumedFaults)")
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
        case .overflowOnPlainThread: overflowOnPlainThread()
        case .overflowOnDispatchWorker: overflowOnDispatchWorker()
        case .overflowOnPoolThread: overflowOnPoolThread()
        case .signalStacksAreFreed: signalStacksAreFreed()
        case .simultaneousFaults: simultaneousFaults()
        case .faultsDuringVerdict: faultsDuringVerdict()
        case .reloadedLibrary: reloadedLibrary()
        case .heldMutex: heldMutex()
        case .heldReadLock: heldReadLock()
        case .heldSwiftMutex: heldSwiftMutex()
        case .heldSwiftMutexGlobal: heldSwiftMutexGlobal()
        case .releasedLocks: releasedLocks()
        case .faultInHandler: faultInHandler()
        case .cxxException: cxxException()
        case .faultInReportWriter: faultInReportWriter()
        case .drain: drain()
        case .drainDeadline: drainDeadline()
        case .drainNeverReturns: drainNeverReturns()
        case .drainClock: drainClock()
        case .drainEndsOnce: drainEndsOnce()
        case .drainEndWithin: drainEndWithin()
        case .signalHandlerTriedAgain: try signalHandlerTriedAgain()
        case .threadFaultWithoutRun: threadFaultWithoutRun()
        case .brokenHeapOnThread: brokenHeapOnThread()
        case .loopThread: try loopThread()
        case .quarantine: quarantine()
        case .quarantineOnLoopThread: try quarantineOnLoopThread()
        case .afterTheRun: afterTheRun()
        case .crashLoop: crashLoop()
        case .exitForRestart: exitForRestart()
        case .cleanups: cleanups()
        case .usedMutex: usedMutex()
        case .usedMutexInNestedRun: usedMutexInNestedRun()
        case .itemPolicy: try itemPolicy()
        case .objection: objection()
        case .faultInPolicy: faultInPolicy()
        case .descriptorBudget: descriptorBudget()
        case .heldSwiftMutexDeepDown: heldSwiftMutexDeepDown()
        case .exchangedLocks: exchangedLocks(isCrossed: false)
        case .crossedLocks: exchangedLocks(isCrossed: true)
        case .usedMutexBesideFlags: usedMutexBesideFlags()
        case .quarantineEndedEarly: quarantineEndedEarly()
        case .ownAbandonHandler: try ownAbandonHandler()
        case .faultsInSignalHandler: try faultsInSignalHandler()
        case .wordsOfAnother: wordsOfAnother()
        case .blockedSignal: try blockedSignal()
        case .blockingPolicy: blockingPolicy()
        case .taskAroundNestedRun: taskAroundNestedRun()
        case .clearedMessages: clearedMessages()
        case .usedMutexAgain: usedMutexAgain()
        case .calledBack, .calledBackByTrustedModule, .calledBackByTrustedFunction: calledBack()
        case .calledBackInlined, .calledBackInlinedByTrustedModule, .calledBackInlinedByTrustedFunction:
            calledBackInlined()
        case .calledBackInlinedTwice: calledBackInlinedTwice()
        case .ownInlinedFunction: ownInlinedFunction()
        case .protectedCall: protectedCall()
        case .ownCode: ownCode()
        case .ownCFunction: ownCFunction()
        }
    }

    /// Queues a callout of its own for each body, in this order.
    func perform(_ bodies: (@MainActor () -> Void)...) {
        for body in bodies {
            host.loop.performWithoutWaking(in: .default, label: "probe") { body() }
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

extension HostRunLoop {
    /// Performs a closure that belongs to nobody: one that is written in code of the main actor is its own, and only for its loop.
    nonisolated func performForNobody(label: String = "block", _ body: @escaping @Sendable () -> Void) {
        perform(label: label, body)
    }
}
