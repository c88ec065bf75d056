import CrashReports
import Foundation
import Glibc
import TestSupport
import Testing

/// Restarts in place: what the next process takes over.
@Suite(.serialized, .timeLimit(.minutes(10))) struct RestartTests {
    @Test func `A connection is never refused: what comes during a restart waits for the next process`() throws {
        let agent = try AgentProcess(AgentProcess.withoutCrashLoops)
        for restarts in 1...5 {
            let victim = try agent.connect()
            try victim.send("FAULT wild-pointer\n")
            let clients = try (0..<20).map { _ in try agent.connect() }
            try agent.waitForRestart()
            // Also those that the old process had taken.
            for client in clients { try client.send("PING\n") }
            for client in clients { #expect(try client.line() == "PONG") }
            #expect(try agent.statistics().restarts == restarts)
        }
        #expect(try agent.stop() == .exited(0))
    }

    @Test func `The memory of the process before is freed by another one, which the next process waits for`() throws {
        let agent = try AgentProcess(AgentProcess.withoutCrashLoops)
        let pid = agent.process.pid
        for _ in 1...3 {
            try agent.connect().send("FAULT wild-pointer\n")
            try agent.waitForRestart()
            let holder = try Self.environment(of: pid)["HOLDFAST_MEMORY_HOLDER"].flatMap { pid_t($0) }
            #expect(try #require(holder) > 0)
            let deadline = Deadline()
            while try Self.hasChildren(pid), !deadline.hasPassed { usleep(10_000) }
            #expect(try !Self.hasChildren(pid), "a process was left behind")
        }
        #expect(try agent.stop() == .exited(0))
    }

    private static func environment(of pid: pid_t) throws -> [Substring: Substring] {
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: "/proc/\(pid)/environ")), as: UTF8.self)
        let entries = text.split(separator: "\0").compactMap { entry -> (Substring, Substring)? in
            let parts = entry.split(separator: "=", maxSplits: 1)
            return parts.count == 2 ? (parts[0], parts[1]) : nil
        }
        return Dictionary(entries) { first, _ in first }
    }

    /// Whether a process has children, also those that have ended (proc_pid_stat(5): the parent's pid is the fourth field).
    private static func hasChildren(_ pid: pid_t) throws -> Bool {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").contains { name in
            guard Int(name) != nil, let text = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8) else {
                return false
            }
            return text.split(separator: ")").last?.split(separator: " ").dropFirst().first == "\(pid)"
        }
    }

    @Test func `Restarts in quick succession lose no report, and none its functions' names`() throws {
        let agent = try AgentProcess(AgentProcess.withoutCrashLoops)
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

    @Test func `Without libdw the agent serves, resumes nothing, and its reports name functions without lines`() throws
    {
        let folder = try TemporaryFolder()
        // What is no library in the place of one: the dynamic linker looks no further.
        _ = try folder.write("no library", to: "libdw.so.1")
        let agent = try AgentProcess(environment: ["LD_LIBRARY_PATH": folder.path])
        // A process that is restarted before it has said so says it no more.
        let warning = "no fault will be resumed, and reports have no lines"
        let deadline = Deadline()
        while !agent.process.errors.contains(warning), !deadline.hasPassed { usleep(10_000) }
        try agent.connect().send("FAULT null-write\n")
        try agent.waitForRestart()
        try agent.store.waitForReports(1)
        #expect(try agent.stop() == .exited(0))
        let report = try #require(try agent.store.reports().first)
        #expect(report.verdict.decision == .restart)
        #expect(report.location.contains("faultNullWrite"), "\(report.location)")
        #expect(report.thread.frames.allSatisfy { $0.line == nil })
        #expect(report.notes.contains { $0.hasPrefix("no lines: libdw cannot be loaded") }, "\(report.notes)")
        let errors = agent.process.errors
        #expect(errors.ranges(of: warning).count == 1, "\(errors)")
    }

    @Test func `Hard faults one after the other never keep the default from serving`() throws {
        let agent = try AgentProcess()
        let witness = try agent.connect()
        for restarts in 1...12 {
            try agent.connect().send("FAULT wild-pointer\n")
            try agent.waitForRestart()
            let statistics = try witness.statistics()
            try #require(statistics.restarts == restarts)
            #expect(!statistics.safeMode)
        }
        #expect(!agent.process.errors.contains("waiting before serving"))
        try agent.store.waitForReports(12)
        #expect(try agent.stop() == .exited(0))
        let reports = try agent.store.reports()
        #expect(reports.map(\.process.restarts).sorted() == Array(0..<12))
        #expect(reports.allSatisfy { $0.verdict.decision == .restart && $0.process.phase == .serving })
    }

    /// Below an outer supervisor each start is a process of its own, and the store tells of those before it.
    @Test func `A timer that ends every start is left out in the end, and the agent serves`() throws {
        let store = try StoreReader()
        let fault = ["--inject", "wild-pointer@timer", "--crash-loop-after", "2"]
        for _ in 1...2 {
            let agent = try AgentProcess(fault + ["--exit-status", "42"], store: store)
            #expect(try agent.process.wait() == .exited(42))
        }
        let agent = try AgentProcess(fault + ["--exit-status", "42"], store: store)
        #expect(try agent.connect().ask("PING") == "PONG")
        #expect(try agent.statistics().safeMode)
        #expect(agent.process.errors.contains("inject wild-pointer"), "\(agent.process.errors)")
        // Other arguments are another instance, which has a count of its own.
        let other = try AgentProcess(["--crash-loop-after", "2"], store: store)
        #expect(try other.statistics().safeMode == false)
        #expect(try other.stop() == .exited(0))
        #expect(try agent.stop() == .exited(0))
        #expect(try store.list().count == 2)
    }

    @Test(arguments: ["wild-pointer", "nil-unwrap"])
    func `--exit-status exits with it instead of restarting in place`(fault: String) throws {
        let agent = try AgentProcess(["--after-fault", "restart-when-quiet", "--exit-status", "42"])
        let witness = try agent.connect()
        #expect(try witness.ask("PING") == "PONG")
        try agent.connect().send("FAULT \(fault)\n")
        // What is resumed is followed by an exit when nobody is connected any more: nothing is kept for another process.
        if fault == "nil-unwrap" { witness.finishSending() }
        #expect(try agent.process.wait() == .exited(42))
        #expect(try witness.line() == nil)
        #expect(try agent.store.list().count == 1)
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
