import CrashReports
import Glibc
import TestSupport
import Testing

/// Processes that are told to end: nothing restarts them, and the order is not lost.
@Suite(.timeLimit(.minutes(10))) struct OrderTests {
    @Test(arguments: ["stop", "stop-from-thread"])
    func `Who is told to end in a drain ends, and the thread that faulted stands still`(scenario: String) throws {
        let run = try HostRun("order", scenario)
        let told = scenario == "stop" ? ["told to end"] : []
        #expect(try run.lines() == ["draining fault"] + told + ["returned, draining false"])
        #expect(try run.process.wait() == .exited(0))
        let report = try run.store.onlyReport()
        #expect(report.verdict.decision == .terminate)
        #expect(report.verdict.reason.contains("told to end"), "\(report.verdict.reason)")
        #expect(run.process.errors.contains("fault 1 ended the process"), "\(run.process.errors)")
    }

    @Test func `Who runs once more is replaced, because a thread is missing with what it holds`() throws {
        let run = try HostRun("order", "second-run")
        let first = ["draining fault", "told to end", "returned, draining false"]
        #expect(try run.lines() == first + ["handing over", "restarted"])
        #expect(try run.process.wait() == .exited(0))
        #expect(run.process.errors.contains("running again after a fault"), "\(run.process.errors)")
    }

    @Test func `Who is told to end while a restart is planned ends`() throws {
        let run = try HostRun("order", "planned")
        #expect(try run.lines() == ["draining planned", "told to end", "returned, draining false"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `In a drain a signal without a handler does what it always does`() throws {
        let run = try HostRun("order", "default")
        #expect(try run.lines() == ["draining fault"])
        #expect(try run.process.wait() == .signalled(SIGTERM))
    }

    @Test func `A process that exits in a drain ends with its own status`() throws {
        let run = try HostRun("order", "exit")
        #expect(try run.lines() == ["draining fault"])
        #expect(try run.process.wait() == .exited(7))
    }

    @Test func `A host that is closed in a drain is not replaced`() throws {
        let run = try HostRun("order", "close")
        #expect(try run.lines() == ["draining fault", "closed"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `An order that was taken and not carried out yet is the next process's`() throws {
        let run = try HostRun("order", "asked")
        #expect(try run.lines() == ["told to end 0", "told to end 1"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `An order comes once more at most, and then nothing restarts the process`() throws {
        let run = try HostRun("order", "asked-again")
        #expect(try run.lines() == ["told to end 0, repeated false", "told to end 1, repeated true"])
        #expect(try run.process.wait() == .signalled(SIGSEGV))
        let decisions = try run.store.list().map { try run.store.show($0.id.description).verdict.decision }
        #expect(Set(decisions) == [.restart, .terminate] && decisions.count == 2, "\(decisions)")
    }

    @Test func `A planned restart waits for a process that is about to end`() throws {
        let run = try HostRun("order", "planned-later")
        #expect(try run.lines() == ["told to end", "returned, draining false"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test(arguments: [
        ("exit-taken", ["told to end"], ChildProcess.End.signalled(SIGTERM)), ("exit-waiting", [], .signalled(SIGTERM)),
        ("exit-requested", ["handing over"], .signalled(SIGTERM)), ("exit-only", [], .exited(75)),
    ])
    func `Who would be started again by its status ends by an order`(
        what: String,
        lines: [String],
        end: ChildProcess.End
    ) throws {
        let run = try HostRun("order", what)
        #expect(try run.lines() == lines)
        #expect(try run.process.wait() == end)
    }

    @Test func `A process that was told to end and faults before it runs is not restarted`() throws {
        let run = try HostRun("order", "early")
        #expect(try run.lines() == [])
        #expect(try run.process.wait() == .signalled(SIGSEGV))
        #expect(try run.store.onlyReport().verdict.decision == .terminate)
    }

    @Test func `An order within the handler of another one does not end what that one means`() throws {
        let run = try HostRun("order", "nested")
        #expect(try run.lines() == ["nested"])
        #expect(try run.process.wait() == .signalled(SIGSEGV))
    }

    @Test(arguments: [("handler", ["first"]), ("two-handlers", ["first", "second"])])
    func `Where a handler of SIGTERM faults, the host stops`(scenario: String, lines: [String]) throws {
        let run = try HostRun("order", scenario)
        #expect(try run.lines() == lines + ["returned, draining false"])
        #expect(try run.process.wait() == .exited(0))
        #expect(try run.store.onlyReport().verdict.decision == .resume)
        #expect(run.process.errors.contains("the host stops"), "\(run.process.errors)")
    }

    @Test func `Where that fault is not resumed, the process ends and is not restarted`() throws {
        let run = try HostRun("order", "hard-handler")
        #expect(try run.lines() == ["first"])
        #expect(try run.process.wait() == .signalled(SIGSEGV))
        #expect(try run.store.onlyReport().verdict.reason.contains("told to end"))
    }
}
