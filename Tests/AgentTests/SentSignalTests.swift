import CrashReports
import Foundation
import Glibc
import TestSupport
import Testing

/// Fault signals that another process sends are orders to end, not faults.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SentSignalTests {
    @Test(arguments: [SIGSEGV, SIGABRT, SIGBUS], ["enable=no", "enable=yes,color=no,symbolicate=off"])
    func `A signal from outside ends the process as it says, and is reported with its sender`(
        signal: CInt,
        backtrace: String
    ) throws {
        let agent = try AgentProcess(environment: ["SWIFT_BACKTRACE": backtrace])
        #expect(try agent.connect().ask("PING") == "PONG")
        agent.process.kill(signal)
        #expect(try agent.process.wait() == .signalled(signal))

        let report = try agent.store.onlyReport()
        #expect(report.fault?.signal == .signal(Int(signal)))
        #expect(report.fault?.code == .code(0, ofSignal: Int(signal)))
        #expect(report.fault?.sender?.pid == Int(getpid()))
        #expect(report.fault?.sender?.uid == Int(getuid()))
        let name = try String(contentsOfFile: "/proc/self/comm", encoding: .utf8)
        #expect(report.fault?.sender?.name == name.trimmingCharacters(in: .whitespacesAndNewlines))
        #expect(report.fault?.address == nil)
        #expect(report.verdict.decision == .terminate)
        #expect(report.process.pid == Int(agent.pid))
        #expect(try agent.store.violations().texts.isEmpty)
    }

    @Test func `The next start on the store makes the report, once`() throws {
        let first = try AgentProcess()
        first.process.kill(SIGSEGV)
        #expect(try first.process.wait() == .signalled(SIGSEGV))
        let second = try AgentProcess(store: first.store)
        try first.store.waitForReports(1)
        #expect(try second.stop() == .exited(0))
        let report = try first.store.onlyReport()
        #expect(report.process.pid == Int(first.pid))
        #expect(report.fault?.sender?.pid == Int(getpid()))
    }

    @Test func `kill -9 leaves a store that can be read, with every fault before it`() throws {
        let agent = try AgentProcess()
        for count in 1...3 {
            let victim = try agent.connect()
            try victim.send("FAULT nil-unwrap\n")
            #expect(try victim.line() == nil)
            #expect(try agent.statistics().faultsResumed == count)
        }
        // The writer is at work, or has not begun.
        agent.process.kill(SIGKILL)
        #expect(try agent.process.wait() == .signalled(SIGKILL))
        let next = try AgentProcess(store: agent.store)
        try agent.store.waitForReports(3)
        #expect(try next.stop() == .exited(0))
        #expect(try agent.store.list().count == 3)
        #expect(Set(try agent.store.reports().map(\.fault?.number)) == [1, 2, 3])
        #expect(try agent.store.violations().texts.isEmpty)
        #expect(try agent.store.spoolNames().isEmpty)
    }

    @Test func `kill -9 without a fault leaves nothing to report`() throws {
        let agent = try AgentProcess()
        agent.process.kill(SIGKILL)
        #expect(try agent.process.wait() == .signalled(SIGKILL))
        #expect(try agent.store.list().isEmpty)
    }
}
