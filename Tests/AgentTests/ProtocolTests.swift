import FaultInjection
import TestSupport
import Testing

/// What the agent answers.
@Suite(.timeLimit(.minutes(10))) struct ProtocolTests {
    private static let stallUsage = "ERR usage: STALL busy|sleep|lock|read milliseconds, up to an hour"

    private let agent: AgentProcess
    private let client: LineClient

    init() throws {
        agent = try AgentProcess()
        client = try agent.connect()
    }

    @Test func `Values are kept until they are set again`() throws {
        #expect(try client.ask("GET name") == "NONE")
        #expect(try client.ask("SET name Ada Lovelace") == "OK")
        #expect(try client.ask("GET name") == "VALUE Ada Lovelace")
        #expect(try client.ask("SET name Grace") == "OK")
        #expect(try client.ask("GET name") == "VALUE Grace")
        #expect(try client.ask("SET empty ") == "OK")
        #expect(try client.ask("GET empty") == "VALUE ")
        #expect(try client.ask("SET größe 🌊") == "OK")
        #expect(try agent.connect().ask("GET größe") == "VALUE 🌊", "on another connection")
    }

    @Test func `PING is answered, and STATS is one line of JSON that counts`() throws {
        #expect(try client.ask("PING") == "PONG")
        let other = try agent.connect()
        #expect(try other.ask("PING") == "PONG")
        let statistics = try client.statistics()
        #expect(statistics.pid == agent.pid)
        #expect(statistics.connections == 2)
        #expect(statistics.requests == 3)
        #expect(statistics.faultsResumed == 0)
        #expect(statistics.restarts == 0)
        #expect(statistics.uptimeSeconds >= 0 && statistics.uptimeSeconds < 60)
    }

    @Test(
        arguments: [
            ("", "ERR unknown command"), ("ping", "ERR unknown command"), ("QUIT", "ERR unknown command"),
            ("PING twice", "ERR unknown command"), ("STATS now", "ERR unknown command"),
            ("SET", "ERR usage: SET key value"), ("SET key", "ERR usage: SET key value"),
            ("SET  value", "ERR usage: SET key value"), ("GET", "ERR usage: GET key"),
            ("GET a b", "ERR usage: GET key"),
            ("GET ", "ERR usage: GET key"), ("FAULT", "ERR usage: FAULT name"),
            ("FAULT a b", "ERR usage: FAULT name"), ("FAULT no-such", "ERR no such fault; see --list-faults"),
            ("STALL", Self.stallUsage), ("STALL busy", Self.stallUsage), ("STALL lazily 5", Self.stallUsage),
            ("STALL busy -1", Self.stallUsage), ("STALL busy 3600001", Self.stallUsage),
            ("STALL busy 1s", Self.stallUsage),
        ]
    )
    func `What is not understood is refused with a reason`(line: String, answer: String) throws {
        #expect(try client.ask(line) == answer)
        #expect(try client.ask("PING") == "PONG", "the connection goes on")
    }

    @Test func `A line may come in pieces`() throws {
        let asked = try client.statistics().requests
        for piece in ["SE", "T k", "ey v", "alue", "\nGET k"] {
            try client.send(piece)
            // The agent has read the piece before this one when it answers here.
            #expect(try agent.connect().ask("PING") == "PONG")
        }
        try client.send("ey\n")
        #expect(try client.line() == "OK")
        #expect(try client.line() == "VALUE value")
        #expect(try client.statistics().requests == asked + 5 + 2 + 1)
    }

    @Test func `Lines that come together are answered in their order`() throws {
        let count = 5000
        try client.send((0..<count).map { "SET key\($0) \($0)\nGET key\($0)\n" }.joined())
        for index in 0..<count {
            try #require(try client.line() == "OK")
            try #require(try client.line() == "VALUE \(index)")
        }
    }

    @Test func `A carriage return before the end of a line is not part of it`() throws {
        try client.send("SET key value\r\nGET key\r\nPING\r\n")
        #expect(try client.line() == "OK")
        #expect(try client.line() == "VALUE value")
        #expect(try client.line() == "PONG")
    }

    @Test(arguments: [8193, 8194, 16 * 1024, 1 << 20])
    func `An over-long line is refused once, and the next one is answered`(length: Int) throws {
        try client.send(String(repeating: "x", count: length) + "\nPING\n")
        #expect(try client.line() == "ERR line too long")
        #expect(try client.line() == "PONG")
    }

    @Test func `A line of the greatest length is answered`() throws {
        let value = String(repeating: "v", count: 8192 - "SET key ".count)
        #expect(try client.ask("SET key \(value)") == "OK")
        #expect(try client.ask("GET key") == "VALUE \(value)")
    }

    @Test func `An over-long line is refused before it ends`() throws {
        try client.send(String(repeating: "x", count: 9000))
        #expect(try client.line() == "ERR line too long")
        try client.send(String(repeating: "y", count: 9000) + "\nPING\n")
        #expect(try client.line() == "PONG")
    }

    @Test func `Bytes that are no text do no harm`() throws {
        try client.send("GET \u{0}\u{1b}[31m\u{7f}\n")
        #expect(try client.line() == "NONE")
    }

    @Test func `A client that sends no more gets its answers`() throws {
        let count = 1000
        let value = String(repeating: "v", count: 1000)
        try client.send("SET key \(value)\n" + String(repeating: "GET key\n", count: count))
        client.finishSending()
        var answers = 0
        while try client.line() != nil { answers += 1 }
        #expect(answers == count + 1)
        #expect(try agent.statistics().connections == 1, "the connection is closed; this is another")
    }

    @Test func `A line without an end is not a request`() throws {
        try client.send("PING\nSET key value")
        client.finishSending()
        #expect(try client.line() == "PONG")
        #expect(try client.line() == nil)
        #expect(try agent.connect().ask("GET key") == "NONE")
    }
}
