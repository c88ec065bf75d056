import CrashReports
import Glibc
import TestSupport
import Testing

/// Restarts in place: what the next process takes over.
@Suite(.serialized, .timeLimit(.minutes(1))) struct RestartTests {
    @Test func `A connection is never refused: what comes during a restart waits for the next process`() throws {
        let agent = try AgentProcess()
        for restarts in 1...5 {
            let victim = try agent.connect()
            try victim.send("FAULT wild-pointer\n")
            let clients = try (0..<20).map { _ in try agent.connect() }
            try agent.waitForRestart()
            // Those that the old process had taken are closed, the others are served.
            for client in clients { try? client.send("PING\n") }
            for client in clients { #expect([nil, "PONG"].contains(try client.line())) }
            #expect(try agent.statistics().restarts == restarts)
        }
        #expect(try agent.stop() == .exited(0))
    }

    @Test func `Restarts in quick succession lose no report, and none its functions' names`() throws {
        let agent = try AgentProcess()
        let count = 12
        for _ in 0..<count {
            try agent.connect().send("FAULT wild-pointer\n")
            try agent.waitForRestart()
        }
        try agent.store.waitForReports(count)
        #expect(try agent.stop() == .exited(0))
        let reports = try agent.store.reports()
        #expect(reports.map(\.process.restarts).sorted() == Array(0..<count))
        #expect(reports.filter { $0.location.contains("faultWildPointer") }.count == count)
    }

    @Test func `After sixteen early restarts the next fault ends the process as its signal says`() throws {
        let agent = try AgentProcess()
        for restarts in 1...16 {
            try agent.connect().send("FAULT wild-pointer\n")
            try agent.waitForRestart()
            try #require(try agent.statistics().restarts == restarts)
        }
        try agent.connect().send("FAULT wild-pointer\n")
        #expect(try agent.process.wait() == .signalled(SIGSEGV))
        #expect(try agent.store.list().count == 17)
        let last = try agent.store.reports().max { $0.timestamp < $1.timestamp }
        #expect(last?.verdict.decision == .terminate)
    }

    @Test func `A process that was restarted still resumes what can be resumed`() throws {
        let agent = try AgentProcess()
        let first = try agent.connect()
        try first.send("FAULT wild-pointer\n")
        #expect(try first.line() == nil)
        try agent.waitForRestart()
        let second = try agent.connect()
        try second.send("FAULT nil-unwrap\n")
        #expect(try second.line() == nil)
        let statistics = try agent.statistics()
        #expect(statistics.restarts == 1)
        #expect(statistics.faultsResumed == 1)
        try agent.store.waitForReports(2)
        #expect(try agent.stop() == .exited(0))
        #expect(try agent.store.reports().map(\.process.restarts).sorted() == [0, 1])
    }
}
