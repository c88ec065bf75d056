import CrashReports
import Foundation
import Glibc
import TestSupport
import Testing

/// What a program keeps moves to the process that stands by, from the handler that decides that the one before will not go on.
@Suite(.timeLimit(.minutes(5))) struct StandbyHandOverTests {
    private static func agent(_ port: UInt16, _ options: [String], below: [String] = []) throws -> Supervised {
        let store = try StoreReader()
        let agent = try [BuiltProduct.path(of: "holdfast-agent"), "--port", "\(port)", "--store", store.path]
        return try Supervised(Supervised.standingBy(port) + below, agent + options, store: store)
    }

    /// An agent that is replaced by its first fault, with clients, and a process that stands by and is stopped.
    private static func beginWithStopped() throws -> (
        supervised: Supervised, port: UInt16, pid: CInt, standby: CInt, clients: [LineClient]
    ) {
        let port = try Loopback.freePort()
        let supervised = try agent(port, ["--after-fault", "restart"])
        let (pid, standby) = (try supervised.nextPid(), try supervised.nextPid())
        let clients = try begin(50, at: port)
        try supervised.waitForStandby()
        kill(standby, SIGSTOP)
        return (supervised, port, pid, standby, clients)
    }

    /// Clients of which each has sent half a request.
    private static func begin(_ count: Int, at port: UInt16) throws -> [LineClient] {
        let clients = try (0..<count).map { _ in try LineClient(port: port) }
        for client in clients {
            #expect(try client.ask("PING") == "PONG")
            try client.send("STA")
        }
        return clients
    }

    /// Checks that each client is answered by a process, and begins another request.
    private static func expect(_ clients: [LineClient], from pid: CInt, _ supervised: Supervised) throws {
        for client in clients {
            try client.send("TS\n")
            #expect(agentPid(try client.line()) == pid, "\(supervised.process.errors.suffix(4000))")
            try client.send("STA")
        }
    }

    @Test(arguments: ["nil-unwrap", "heap-smash"])
    func `Connections go on in the process that stood by, but for the one that faulted`(fault: String) throws {
        let port = try Loopback.freePort()
        let supervised = try Self.agent(port, ["--after-fault", "restart"])
        var pid = try supervised.nextPid()
        var standby = try supervised.nextPid()
        let clients = try Self.begin(300, at: port)
        for _ in 0..<3 {
            try supervised.waitForStandby()
            let faulty = try LineClient(port: port)
            try faulty.send("FAULT \(fault)\n")
            #expect(try faulty.line() == nil)
            try Self.expect(clients, from: standby, supervised)
            (pid, standby) = (standby, try supervised.nextPid())
        }
        // Whoever is new, too.
        #expect(agentPid(try LineClient(port: port).ask("STATS")) == pid)
        let ends = try supervised.deaths(once: 3)
        #expect(ends.map(\.status) == [75, 75, 75], "\(ends.map(\.sentence)) \(supervised.process.errors)")
        #expect(try supervised.order("stop").end == .exited(0))
    }

    @Test func `A process that stands by serves also if nothing is started again`() throws {
        let port = try Loopback.freePort()
        let supervised = try Self.agent(port, ["--after-fault", "restart"], below: ["--restart", "never"])
        _ = try supervised.nextPid()
        let standby = try supervised.nextPid()
        let clients = try Self.begin(3, at: port)
        try supervised.waitForStandby()
        let faulty = try LineClient(port: port)
        try faulty.send("FAULT nil-unwrap\n")
        // Until it has come to that, the one before answers.
        #expect(try faulty.line() == nil)
        try Self.expect(clients, from: standby, supervised)
        #expect(try supervised.deaths(once: 1).map(\.status) == [75])
        #expect(try supervised.status()["pid"] as? Int == Int(standby))
    }

    @Test func `A planned restart hands over to the process that stands by`() throws {
        let port = try Loopback.freePort()
        let supervised = try Self.agent(port, ["--after-fault", "restart-when-quiet"])
        _ = try supervised.nextPid()
        let clients = try Self.begin(20, at: port)
        for _ in 0..<2 {
            let standby = try supervised.nextPid()
            try supervised.waitForStandby()
            for client in clients { #expect(agentPid(try client.ask("TS")) != nil) }
            try LineClient(port: port).send("FAULT nil-unwrap\n")
            let deadline = Deadline()
            for client in clients {
                while agentPid(try client.ask("STATS")) != standby { try #require(!deadline.hasPassed) }
                try client.send("STA")
            }
        }
    }

    // Before it was told, or after it was told and what is kept was sent to it.
    @Test(arguments: [false, true])
    func `If the process that stands by ends before it has taken what is kept, the one before restarts in place`(
        isHandedOver: Bool
    ) throws {
        let (supervised, port, pid, standby, clients) = try Self.beginWithStopped()
        let faulty = try LineClient(port: port)
        try faulty.send("FAULT nil-unwrap\n")
        let deadline = Deadline()
        // The handler waits for the answer by ppoll(2) (proc_pid_syscall(5)).
        while isHandedOver, try !String(contentsOfFile: "/proc/\(pid)/syscall", encoding: .utf8).hasPrefix("271 ") {
            try #require(!deadline.hasPassed)
        }
        kill(standby, SIGKILL)
        #expect(try faulty.line() == nil)
        try Self.expect(clients, from: pid, supervised)
    }

    @Test func `A process that stands by and does not answer in time serves what was handed over when it can`() throws {
        let (supervised, port, pid, standby, clients) = try Self.beginWithStopped()
        try LineClient(port: port).send("FAULT nil-unwrap\n")
        let deadline = Deadline()
        while kill(pid, 0) == 0 { try #require(!deadline.hasPassed) }
        kill(standby, SIGCONT)
        try Self.expect(clients, from: standby, supervised)
    }

    @Test func `A program that takes nothing over keeps what it has by a restart in place`() throws {
        let (supervised, port) = try Supervised.standbyServer("keep")
        let first = try supervised.nextPid()
        _ = try supervised.nextPid()
        try supervised.waitForStandby()
        try LineClient(port: port).send("fault\n")
        #expect(try supervised.line() == "kept \(first)")
    }
}
