import Foundation
import Glibc
import TestSupport
import Testing

/// Connections outlive a restart in place.
@Suite(.serialized, .timeLimit(.minutes(10))) struct HandOverTests {
    /// What restarts the agent.
    struct Cause: CustomTestStringConvertible {
        let fault: String
        let afterFault: String

        var testDescription: String { "\(fault), \(afterFault)" }
    }

    static let causes = [
        Cause(fault: "wild-pointer", afterFault: "keep-going"),
        Cause(fault: "double-free", afterFault: "keep-going"),
        Cause(fault: "nil-unwrap", afterFault: "restart"),
        Cause(fault: "nil-unwrap", afterFault: "restart-when-quiet"),
    ]

    private static func start(_ cause: Cause) throws -> AgentProcess {
        try AgentProcess(["--after-fault", cause.afterFault])
    }

    /// Has a connection of its own fault, and waits until that is closed.
    private func fault(_ agent: AgentProcess, _ cause: Cause) throws {
        let victim = try agent.connect()
        #expect(try victim.ask("PING") == "PONG")
        try victim.send("FAULT \(cause.fault)\nPING\n")
        #expect(try victim.line() == nil, "the connection whose request was consumed is closed")
    }

    /// As a supervisor asks a process from which another one takes over (`HF_QUESTION_REST`): it knows of no restart in place.
    @Test func `A process that is asked something while it is replaced does not end by that`() throws {
        let agent = try AgentProcess(["--after-fault", "restart"] + AgentProcess.withoutCrashLoops)
        // It accepts no more once it was asked.
        let client = try agent.connect()
        let victims = try (0..<3).map { _ in try agent.connect() }
        for one in victims + [client] { #expect(try one.ask("PING") == "PONG") }
        let isDone = Flag()
        let pid = agent.pid
        let asker = Thread {
            let question = sigval(sival_ptr: UnsafeMutableRawPointer(bitPattern: 0x686f_6c64_ffff_ffff as UInt))
            while !isDone.isSet {
                sigqueue(pid, SIGSTKFLT, question)
                usleep(200)
            }
        }
        asker.start()
        defer { isDone.set() }
        for victim in victims {
            try victim.send("FAULT nil-unwrap\n")
            #expect(try victim.line() == nil)
            try agent.waitForRestart()
        }
        #expect(try client.statistics().restarts == 3)
    }

    @Test(arguments: causes)
    func `Twenty clients in the middle of a line get their answers, on the same connection`(cause: Cause) throws {
        let agent = try Self.start(cause)
        let clients = try (0..<20).map { _ in try agent.connect() }
        for (index, client) in clients.enumerated() { try client.send("SET key\(index) val") }
        // What was sent before has been read by the time of this answer.
        #expect(try agent.connect().ask("PING") == "PONG")
        try fault(agent, cause)
        try agent.waitForRestart()
        for (index, client) in clients.enumerated() { try client.send("ue\(index)\nGET key\(index)\n") }
        for (index, client) in clients.enumerated() {
            #expect(try client.line() == "OK")
            #expect(try client.line() == "VALUE value\(index)")
        }
        let statistics = try clients[0].statistics()
        #expect(statistics.restarts == 1)
        #expect(statistics.pid == agent.pid)
        #expect(statistics.connections == clients.count)
        #expect(try agent.stop() == .exited(0))
        for client in clients { #expect(try client.line() == nil) }
    }

    @Test(arguments: causes)
    func `Requests that are sent during the restart are answered`(cause: Cause) throws {
        let agent = try Self.start(cause)
        let clients = try (0..<20).map { _ in try agent.connect() }
        for client in clients { #expect(try client.ask("PING") == "PONG") }
        try fault(agent, cause)
        let late = try agent.connect()
        for client in clients + [late] { try client.send("SET key value\nGET key\nPING\n") }
        for client in clients + [late] {
            #expect(try client.line() == "OK")
            // Another process may answer each; only a restart in between makes it forget.
            #expect(["VALUE value", "NONE"].contains(try client.line()))
            #expect(try client.line() == "PONG")
        }
        try agent.waitForRestart()
        #expect(try late.ask("SET key again") == "OK")
        for client in clients { #expect(try client.ask("GET key") == "VALUE again") }
        #expect(try agent.stop() == .exited(0))
    }

    @Test func `The connection that faulted is closed also where no record of the fault is left`() throws {
        let agent = try AgentProcess()
        let client = try agent.connect()
        #expect(try client.ask("PING") == "PONG")
        for name in try agent.store.spoolNames() {
            try FileManager.default.removeItem(atPath: agent.store.path + "/spool/" + name)
        }
        try fault(agent, Self.causes[0])
        try agent.waitForRestart()
        let statistics = try client.statistics()
        #expect(statistics.restarts == 1)
        #expect(statistics.connections == 1)
        #expect(try agent.stop() == .exited(0))
    }

    @Test func `A connection lives through one restart after the other`() throws {
        let agent = try AgentProcess(AgentProcess.withoutCrashLoops)
        let client = try agent.connect()
        try client.send("SET key")
        for restarts in 1...6 {
            try fault(agent, Self.causes[0])
            try agent.waitForRestart()
            try client.send(" \(restarts)")
            #expect(try agent.statistics().restarts == restarts)
        }
        try client.send("\nGET key\n")
        #expect(try client.line() == "OK")
        #expect(try client.line() == "VALUE 1 2 3 4 5 6")
        #expect(try client.statistics().connections == 1)
    }

    @Test(arguments: causes)
    func `Answers that a client has not taken are not lost, doubled or mixed up`(cause: Cause) throws {
        let agent = try Self.start(cause)
        let value = String(repeating: "v", count: 8000)
        #expect(try agent.connect().ask("SET key \(value)") == "OK")
        let count = 2000
        let slow = try agent.connect(receiveBuffer: 4096)
        try slow.send(String(repeating: "GET key\n", count: count))
        #expect(try agent.connect().ask("PING") == "PONG")
        try fault(agent, cause)
        try agent.waitForRestart()
        var answers: [String] = []
        for _ in 0..<count { answers.append(try #require(try slow.line())) }
        // The first process knew the value, the second does not.
        let known = answers.prefix { $0 == "VALUE \(value)" }.count
        #expect(known > 0 && known < count)
        #expect(answers[known...].allSatisfy { $0 == "NONE" })
        #expect(try slow.ask("PING") == "PONG", "none is left over")
    }

    @Test(arguments: causes)
    func `An over-long line that was refused is skipped to its end by the next process`(cause: Cause) throws {
        let agent = try Self.start(cause)
        let client = try agent.connect()
        try client.send(String(repeating: "x", count: 9000))
        #expect(try client.line() == "ERR line too long")
        try fault(agent, cause)
        try agent.waitForRestart()
        try client.send("SET key value\nGET key\n")
        #expect(try client.line() == "NONE", "the first was the end of the long one")
    }

    @Test(arguments: causes)
    func `A peer that has gone meanwhile is closed, and the others are served`(cause: Cause) throws {
        let agent = try Self.start(cause)
        let stay = try agent.connect()
        #expect(try stay.ask("PING") == "PONG")
        do {
            let gone = try (0..<10).map { _ in try agent.connect() }
            for client in gone { try client.send("SET key half") }
            #expect(try stay.ask("PING") == "PONG")
            try fault(agent, cause)
        }
        try agent.waitForRestart()
        var connections = Int.max
        let deadline = Deadline()
        while connections > 1, !deadline.hasPassed { connections = try stay.statistics().connections }
        #expect(connections == 1)
        #expect(try stay.ask("GET key") == "NONE")
        #expect(try agent.stop() == .exited(0))
    }
}
