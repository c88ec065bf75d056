import CrashReports
import Glibc
import TestSupport
import Testing

/// Programs that take SIGTERM by means of their own, as servers with an async main do: a fault does not make them forget it.
@Suite(.timeLimit(.minutes(10))) struct OwnOrderTests {
    @Test(arguments: ["source", "handler", "action", "wait", "descriptor"])
    func `Who has taken an order and does not come to the end ends by it`(how: String) throws {
        let run = try HostRun("own-order", how, "stuck")
        #expect(try run.lines() == ["taken", "draining fault"])
        #expect(try run.process.wait() == .signalled(SIGTERM))
        // It is written before the end.
        let report = try run.store.onlyReport()
        #expect(report.verdict.decision == .terminate)
        #expect(report.verdict.reason.contains("told to end"), "\(report.verdict.reason)")
        #expect(run.process.errors.contains("the process ends by the order"), "\(run.process.errors)")
    }

    @Test(arguments: ["source", "handler"])
    func `Who comes to the end by itself ends with its own status`(how: String) throws {
        let run = try HostRun("own-order", how, "ends")
        #expect(try run.lines() == ["taken", "draining fault"])
        #expect(try run.process.wait() == .exited(3))
        #expect(try run.store.onlyReport().fault?.signal.name == "SIGSEGV")
    }

    @Test(arguments: ["source", "action"])
    func `Where nothing can drain, the process ends by the order at once`(how: String) throws {
        let run = try HostRun("own-order", how, "main")
        #expect(try run.lines() == ["taken"])
        #expect(try run.process.wait() == .signalled(SIGTERM))
        #expect(try run.store.onlyReport().verdict.decision == .terminate)
    }

    @Test(arguments: ["source", "handler", "wait"])
    func `An order that comes in a drain ends the process, too`(how: String) throws {
        let run = try HostRun("own-order", how, "drain")
        #expect(try run.lines() == ["draining fault", "taken"])
        #expect(try run.process.wait() == .signalled(SIGTERM))
        #expect(try run.store.onlyReport().verdict.decision == .terminate)
    }

    @Test func `Without an order the process is restarted`() throws {
        let run = try HostRun("own-order", "source", "unasked")
        #expect(try run.lines() == ["draining fault", "handing over", "restarted"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `A program finds the handlers that it has set itself`() throws {
        let run = try HostRun("own-order", "seen", "seen")
        #expect(try run.lines() == ["first true", "second true", "default true"])
    }
}
