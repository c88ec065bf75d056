import CrashReports
import FaultInjection
import Foundation
import Glibc
import TestSupport
import Testing

/// An agent whose callouts have a deadline.
@Suite(.timeLimit(.minutes(10))) struct AgentDeadlineTests {
    @Test(arguments: [InjectedStall.busy, .sleep, .read])
    func `A connection that stalls is given up, and the others are served on`(stall: InjectedStall) throws {
        // Far more than a callout that is in time takes on a busy machine.
        let agent = try AgentProcess(["--callout-deadline", "3000"])
        let client = try agent.connect()
        let other = try agent.connect()
        #expect(try other.ask("SET a 1") == "OK")
        try client.send("STALL \(stall.rawValue) 60000\n")
        #expect(try other.ask("GET a") == "VALUE 1")
        #expect(try client.line() == nil)
        let statistics = try other.statistics()
        #expect(statistics.faultsResumed == 1 && statistics.restarts == 0)
        // A callout that is in time, of the same process.
        #expect(try other.ask("STALL sleep 20") == "OK")
        try agent.store.waitForReports(1)
        try agent.stop()
        let report = try agent.store.onlyReport()
        #expect(report.fault?.signal.name == "SIGSTKFLT")
        #expect(report.reason.hasSuffix("ran for more than its deadline of 3 s"))
        #expect(report.verdict.decision == .resume)
        #expect(try agent.store.violations().texts == [])
        #expect(agent.process.errors.contains("a callout was abandoned at its deadline"))
    }

    @Test func `A connection that waits for a lock restarts the agent`() throws {
        let agent = try AgentProcess(["--callout-deadline", "3000"])
        let client = try agent.connect()
        try client.send("STALL lock 60000\n")
        try agent.waitForRestart()
        #expect(try agent.statistics().restarts == 1)
        try agent.stop()
        let report = try agent.store.onlyReport()
        #expect(report.verdict.decision == .restart && report.fault?.deadlineSeconds == 3)
    }

    @Test func `Time in which the process is stopped does not count`() throws {
        let agent = try AgentProcess(["--callout-deadline", "6000"])
        let client = try agent.connect()
        let before = try Self.processorTime(of: agent.pid)
        try client.send("STALL busy 8000\n")
        // The callout runs, and has been seen.
        while try Self.processorTime(of: agent.pid) < before + 30 { sched_yield() }
        agent.process.kill(SIGSTOP)
        // What is tried is this time: with it the callout would be late.
        usleep(6_000_000)
        agent.process.kill(SIGCONT)
        #expect(try client.line() == "OK")
        #expect(try client.statistics().faultsResumed == 0)
        try agent.stop()
        #expect(try agent.store.reportPaths().isEmpty)
    }

    /// In hundredths of a second (proc_pid_stat(5): utime and stime).
    private static func processorTime(of pid: pid_t) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else {
            throw HarnessError("no times in \(text)")
        }
        return user + system
    }

    @Test func `A deadline that is none is refused`() throws {
        let run = try ProgramRun.run(BuiltProduct.path(of: "holdfast-agent"), ["--callout-deadline", "0"])
        #expect(run.end == .exited(64) && run.errors.contains("milliseconds from 1 to 86400000"))
    }
}
