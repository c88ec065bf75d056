import CrashReports
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
}
