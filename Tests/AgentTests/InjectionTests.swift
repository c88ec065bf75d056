import CrashReports
import FaultInjection
import TestSupport
import Testing

/// Faults in every kind of callout, injected at start.
@Suite(.timeLimit(.minutes(10))) struct InjectionTests {
    /// A kind of callout, and how it is described in a report.
    struct Place: CustomTestStringConvertible {
        let name: String
        let kind: CrashReport.LoopState.Callout.Kind
        let label: String
        let activities: Set<String>

        var testDescription: String { name }
    }

    /// Every kind but the main queue, which has a test of its own.
    ///
    /// Timers and ports are served when the loop has woken or, if they were ready before it slept, without sleeping.
    static let places = [
        Place(name: "source", kind: .source, label: "injected source", activities: ["beforeSources"]),
        Place(name: "port", kind: .port, label: "injected port", activities: ["afterWaiting", "beforeSources"]),
        Place(name: "timer", kind: .timer, label: "inject nil-unwrap", activities: ["afterWaiting", "beforeSources"]),
        Place(name: "observer", kind: .observer, label: "injected observer", activities: ["beforeWaiting"]),
        Place(name: "block", kind: .block, label: "injected block", activities: ["beforeSources", "afterWaiting"]),
    ]

    @Test(arguments: places)
    func `Two faults in a callout of any kind are resumed, and the loop goes on`(place: Place) throws {
        let agent = try AgentProcess(["--inject", "nil-unwrap@\(place.name):2"])
        try agent.store.waitForReports(2)
        let client = try agent.connect()
        let before = try client.statistics()
        #expect(before.faultsResumed == 2)
        #expect(before.restarts == 0)
        #expect(before.pid == agent.pid)
        // Requests go on while the heartbeat, which comes every second, is waited for.
        let deadline = Deadline()
        var heartbeats = before.heartbeats
        while heartbeats == before.heartbeats, !deadline.hasPassed { heartbeats = try client.statistics().heartbeats }
        #expect(heartbeats > before.heartbeats)
        #expect(try agent.stop() == .exited(0))

        let reports = try agent.store.reports()
        #expect(reports.count == 2)
        for report in reports {
            #expect(report.verdict.decision == .resume)
            let loop = try #require(report.loop)
            #expect(loop.callout?.kind == place.kind)
            #expect(loop.callout?.label == place.label)
            #expect(loop.mode == "default")
            #expect(place.activities.contains(loop.activity), "\(loop.activity)")
            #expect(loop.nesting == 1)
            #expect(report.thread.frames.first(where: \.isUserCode)?.function?.contains("faultNilUnwrap") == true)
        }
        #expect(Set(reports.compactMap(\.loop?.pass)).count == 2, "in different passes")
        // Observer and block are new ones each time.
        let items = ["observer", "block"].contains(place.name) ? 2 : 1
        #expect(Set(reports.compactMap(\.loop?.callout?.item)).count == items)
    }

    @Test func `A fault in a job of the main queue is not resumed: the queue would never run again`() throws {
        let agent = try AgentProcess(["--inject", "nil-unwrap@main-queue:2"])
        try agent.waitForRestart()
        try agent.store.waitForReports(1)
        let statistics = try agent.statistics()
        #expect(statistics.restarts == 1)
        #expect(statistics.pid == agent.pid)
        #expect(try agent.stop() == .exited(0))
        let report = try agent.store.onlyReport()
        #expect(report.verdict.decision == .restart)
        #expect(report.loop?.callout?.kind == .mainQueue)
        #expect(report.loop?.callout?.label == "main queue")
        #expect(report.thread.frames.first(where: \.isUserCode)?.function?.contains("faultNilUnwrap") == true)
    }

    @Test func `Injections of several kinds are all committed`() throws {
        let agent = try AgentProcess([
            "--inject", "overflow@timer:3", "--inject", "null-read@source", "--inject", "abort@block:2",
        ])
        try agent.store.waitForReports(6)
        #expect(try agent.statistics().faultsResumed == 6)
        #expect(try agent.stop() == .exited(0))
        let signals = try agent.store.reports().compactMap(\.fault?.signal.name).sorted()
        #expect(signals == ["SIGABRT", "SIGABRT", "SIGILL", "SIGILL", "SIGILL", "SIGSEGV"])
    }

    @Test func `--after-fault restart restarts in place after a fault that could be resumed`() throws {
        let agent = try AgentProcess(["--after-fault", "restart"])
        let client = try agent.connect()
        #expect(try client.ask("SET key value") == "OK")
        let waiting = try agent.connect()
        #expect(try waiting.ask("PING") == "PONG")
        try client.send("FAULT nil-unwrap\n")
        #expect(try client.line() == nil)
        try agent.waitForRestart()
        #expect(try waiting.ask("GET key") == "NONE")
        let statistics = try waiting.statistics()
        #expect(statistics.pid == agent.pid)
        #expect(statistics.restarts == 1)
        #expect(statistics.faultsResumed == 0)
        try agent.store.waitForReports(1)
        #expect(try agent.stop() == .exited(0))
        let report = try agent.store.onlyReport()
        #expect(report.verdict.decision == .restart)
        #expect(report.verdict.reason.contains("the policy does not resume traps"))
        #expect(report.process.restarts == 0)
    }
}
