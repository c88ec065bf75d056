import FaultInjection
import Glibc
import Holdfast

/// Processes that are told to end while something would restart them: `recovery-probe order STORE WHAT`.
@MainActor
enum OrderScenarios {
    private static var holds: [Hold] = []

    static func run(_ store: String, _ arguments: [String]) throws {
        guard let what = arguments.first else { exit(64) }
        let host = try HostScenario.host(store) { configuration in
            if what.hasPrefix("planned") { configuration.afterResume = .restartWhenQuiet }
            if what.hasPrefix("exit-") { configuration.restart = .exit(75) }
        }
        if what == "asked" { return try asked(host) }
        if what == "asked-again" { return try askedAgain(host) }
        guard host.restarts == 0 else {
            Probe.say("restarted")
            return host.close()
        }
        host.onRestart { Probe.say("handing over") }
        switch what {
        case "stop", "second-run":
            try stopWhenTold(host)
            drainAfterFault(host) { kill(getpid(), SIGTERM) }
        case "stop-from-thread":
            drainAfterFault(host) {
                Probe.startThread { HostRunLoop.main.perform { MainActor.assumeIsolated { host.stop() } } }
            }
        case "planned":
            try stopWhenTold(host)
            host.onDrain { drain in
                Probe.say("draining \(drain.reason)")
                holds.append(drain.hold())
                kill(getpid(), SIGTERM)
            }
            host.perform { Fault.nilUnwrap.commit() }
        case "planned-later": try endLater(host)
        case "exit-taken", "exit-waiting", "exit-requested", "exit-only": try exitForRestart(host, what)
        case "default": drainAfterFault(host) { kill(getpid(), SIGTERM) }
        case "exit":
            drainAfterFault(host) {
                atexit { OrderScenarios.awaitStandstill() }
                exit(7)
            }
        case "close":
            drainAfterFault(host) { host.loop.stop() }
            _ = host.loop.run(in: .default, for: .seconds(3600))
            host.close()
            awaitStandstill()
            return Probe.say("closed")
        case "early": try faultBeforeRun(host)
        case "nested": try faultAfterNestedOrder(host)
        case "handler", "hard-handler", "two-handlers": try faultInHandler(host, what)
        default: exit(64)
        }
        host.run()
        awaitStandstill()
        Probe.say("returned, draining \(host.isDraining)")
        if what == "second-run" {
            host.perform { Probe.say("served") }
            holds = []
            host.run()
        }
        host.close()
    }

    /// Until no thread waits to restart the process; a drain's deadline ends the wait, too, if the order was lost.
    nonisolated private static func awaitStandstill() {
        while Probe.awaitsRestart { usleep(1000) }
    }

    /// The order is there, and nobody serves it yet.
    private static func faultBeforeRun(_ host: EventHost) throws {
        try stopWhenTold(host)
        kill(getpid(), SIGTERM)
        Fault.wildPointer.commit()
    }

    /// A handler of an order runs the loop, where another order comes and is over; then it faults hard.
    private static func faultAfterNestedOrder(_ host: EventHost) throws {
        try host.onSignal(SIGINT) { _ in
            Probe.say("nested")
            host.loop.stop()
        }
        try host.onSignal(SIGTERM) { _ in
            kill(getpid(), SIGINT)
            _ = host.loop.run(in: .default, for: .seconds(3600))
            Fault.wildPointer.commit()
        }
        kill(getpid(), SIGTERM)
    }

    private static func stopWhenTold(_ host: EventHost) throws {
        try host.onSignal(SIGTERM) { _ in
            Probe.say("told to end")
            host.stop()
        }
    }

    /// A thread faults; the drain is held for good, and something happens in it, once the thread waits.
    private static func drainAfterFault(_ host: EventHost, _ body: @escaping @MainActor () -> Void) {
        var isFirst = true
        host.onDrain { drain in
            Probe.say("draining \(drain.reason)")
            guard isFirst else { return }
            isFirst = false
            holds.append(drain.hold())
            while !Probe.awaitsRestart { usleep(1000) }
            body()
        }
        host.perform { Probe.startThread { Fault.wildPointer.commit() } }
    }

    /// A handler of SIGTERM begins to end, and something faults before it has come to that.
    private static func asked(_ host: EventHost) throws {
        let restarts = host.restarts
        try host.onSignal(SIGTERM) { _ in
            Probe.say("told to end \(restarts)")
            guard restarts == 0 else { return host.stop() }
            host.perform { Fault.wildPointer.commit() }
        }
        // Only where nobody tells the second process.
        let late = HostRunLoop.Timer(label: "late", after: .seconds(20)) { _ in
            Probe.say("never told")
            host.stop()
        }
        host.loop.add(late, to: .common)
        if restarts == 0 { kill(getpid(), SIGTERM) }
        host.run()
        host.close()
    }

    /// A handler of SIGTERM never comes to the end, because something faults each time.
    private static func askedAgain(_ host: EventHost) throws {
        let restarts = host.restarts
        try host.onSignal(SIGTERM) { event in
            Probe.say("told to end \(restarts), repeated \(event.isRepeated)")
            // Only where nothing else ends it.
            guard restarts < 3 else { return host.stop() }
            host.perform { Fault.wildPointer.commit() }
        }
        if restarts == 0 { kill(getpid(), SIGTERM) }
        host.run()
        host.close()
    }

    /// A handler of SIGTERM has the process end after a while, in which it is often quiet; a fault has been resumed before.
    private static func endLater(_ host: EventHost) throws {
        try host.onSignal(SIGTERM) { _ in
            Probe.say("told to end")
            host.perform { Fault.nilUnwrap.commit() }
            let clock = HostRunLoop.Timer(label: "clock", after: .zero, repeating: .milliseconds(1)) { _ in }
            host.loop.add(clock, to: .common)
            // The sweep's own runs do not sleep: after it the host could restart before each of these.
            let sleeps = HostRunLoop.Observer(label: "sleeps", activities: .beforeWaiting) { _, _ in
                noteSleep(host)
            }
            host.loop.add(sleeps, to: .default)
        }
        host.perform { kill(getpid(), SIGTERM) }
    }

    private static var sleeps = 0

    private static func noteSleep(_ host: EventHost) {
        guard host.statistics.resumedFaults > 0 else { return }
        sleeps += 1
        if sleeps == 20 { host.stop() }
    }

    /// What would be started again by its status has an order that was taken, one that waits, or none.
    private static func exitForRestart(_ host: EventHost, _ what: String) throws {
        try host.onSignal(SIGTERM) { _ in
            Probe.say("told to end")
            host.perform { Fault.wildPointer.commit() }
        }
        switch what {
        case "exit-taken": kill(getpid(), SIGTERM)
        case "exit-waiting":
            host.perform {
                kill(getpid(), SIGTERM)
                Fault.wildPointer.commit()
            }
        case "exit-requested":
            host.perform {
                kill(getpid(), SIGTERM)
                host.restart()
            }
        default: host.perform { Fault.wildPointer.commit() }
        }
    }

    /// A handler of SIGTERM that faults: `handler` is resumed, `hard-handler` is not.
    private static func faultInHandler(_ host: EventHost, _ what: String) throws {
        try host.onSignal(SIGTERM) { _ in
            Probe.say("first")
            if what == "hard-handler" { Fault.wildPointer.commit() } else { Fault.nilUnwrap.commit() }
        }
        if what == "two-handlers" { try host.onSignal(SIGTERM) { _ in Probe.say("second") } }
        host.perform { kill(getpid(), SIGTERM) }
    }
}
