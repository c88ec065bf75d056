import CrashReports
import Foundation
import Glibc
import TestSupport
import Testing

/// Many clients, and slow ones.
@Suite(.timeLimit(.minutes(10))) struct LoadTests {
    private let agent: AgentProcess

    init() throws {
        agent = try AgentProcess()
    }

    @Test func `Many clients are served side by side`() throws {
        let clients = try (0..<200).map { _ in try agent.connect() }
        for round in 0..<5 {
            for (index, client) in clients.enumerated() { try client.send("SET \(index) \(round)\nGET \(index)\n") }
            for client in clients {
                try #require(try client.line() == "OK")
                try #require(try client.line() == "VALUE \(round)")
            }
        }
        #expect(try clients[0].statistics().connections == clients.count)
    }

    @Test func `A client that does not read costs a bounded amount of memory and gets everything in the end`() throws {
        let value = String(repeating: "v", count: 8000)
        // Once a report is written, the report writer has read the program's tables, which takes memory, too.
        try agent.connect().send("FAULT nil-unwrap\n")
        try agent.store.waitForReports(1)
        let other = try agent.connect()
        #expect(try other.ask("SET key \(value)") == "OK")
        #expect(try other.ask("GET key") == "VALUE \(value)")
        let before = try agent.process.residentBytes()

        let count = 10_000
        let slow = try agent.connect(receiveBuffer: 4096)
        try slow.send(String(repeating: "GET key\n", count: count))
        // Each answer here comes after a pass in which the slow one could have been served.
        for _ in 0..<1000 { try #require(try other.ask("PING") == "PONG") }
        let growth = try agent.process.residentBytes() - before
        print("resident memory for a client that does not read: \(growth / 1024) KiB more")
        #expect(growth < 2 << 20, "\(count) answers are \(count * value.count / 1024) KiB")

        for _ in 0..<count { try #require(try slow.line() == "VALUE \(value)") }
        #expect(try slow.ask("PING") == "PONG")
    }

    @Test func `A client that goes away without reading is forgotten`() throws {
        for _ in 0..<20 {
            let client = try agent.connect(receiveBuffer: 4096)
            try client.send(String(repeating: "GET key\n", count: 5000))
        }
        let client = try agent.connect()
        // The ends of the connections are in the kernel before this one's requests.
        var connections = Int.max
        let deadline = Deadline()
        while connections > 1, !deadline.hasPassed { connections = try client.statistics().connections }
        #expect(connections == 1)
    }

    @Test func `Out of descriptors, the agent waits for one, says so once, and takes what waited`() throws {
        let observer = try agent.connect()
        #expect(try observer.ask("PING") == "PONG")
        let limited = try ProgramRun.run("/usr/bin/prlimit", ["--pid", "\(agent.pid)", "--nofile=64"])
        #expect(limited.end == .exited(0))
        // More than there are numbers left.
        var clients = try (0..<64).map { _ in try agent.connect() }
        let deadline = Deadline()
        while !agent.process.errors.contains("cannot take connections"), !deadline.hasPassed { usleep(10_000) }
        // A loop that is busy fires its heartbeats, and never sleeps between them.
        let sleeps = try Self.sleeps(of: agent.pid)
        let heartbeats = try observer.statistics().heartbeats
        while try observer.statistics().heartbeats < heartbeats + 3 { usleep(50_000) }
        #expect(try Self.sleeps(of: agent.pid) > sleeps + 3)
        let served = try observer.statistics().connections - 1
        #expect(served < clients.count)
        // A number that comes free takes one, and the one after that waits on: that is no second line.
        let next = clients[served]
        clients.removeFirst()
        #expect(try next.ask("PING") == "PONG")
        let waiting = try #require(clients.last)
        clients.removeAll()
        #expect(try waiting.ask("PING") == "PONG")
        let lines = agent.process.errors.split(separator: "\n").filter { $0.contains("cannot take connections") }
        #expect(lines.count == 1 && lines.first?.contains("Too many open files") == true)
    }

    /// How often the main thread of a process went to sleep (proc_pid_status(5)).
    private static func sleeps(of pid: pid_t) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
        return try #require(line?.split(separator: "\t").last.flatMap { Int($0) })
    }
}
