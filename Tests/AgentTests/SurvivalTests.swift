import CrashReports
import FaultInjection
import TestSupport
import Testing

/// What a fault of one connection does to the others: nothing.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SurvivalTests {
    /// A hundred connections, each with a value of its own.
    private struct Crowd {
        let agent: AgentProcess
        var clients: [LineClient] = []

        init() throws {
            agent = try AgentProcess()
            for _ in 0..<99 { clients.append(try agent.connect()) }
            for (index, client) in clients.enumerated() { try client.send("SET key\(index) value\(index)\n") }
            for client in clients { try #require(try client.line() == "OK") }
        }

        /// Commits a fault on a hundredth connection while all others have requests on their way.
        func survive(_ fault: Fault) throws {
            let victim = try agent.connect()
            try #require(try victim.ask("PING") == "PONG")
            for (index, client) in clients.enumerated() {
                if index == clients.count / 2 { try victim.send("FAULT \(fault.rawValue)\n") }
                try client.send("PING\nGET key\(index)\n")
            }
            // Some ask on before they were answered, and while the loop finds its way back.
            for (index, client) in clients.enumerated() { try client.send("SET key\(index) value\(index)\nPING\n") }
            #expect(try victim.line() == nil)
            for (index, client) in clients.enumerated() {
                for answer in ["PONG", "VALUE value\(index)", "OK", "PONG"] {
                    try #require(try client.line() == answer)
                }
            }
            let statistics = try clients[0].statistics()
            #expect(statistics.pid == agent.pid)
            #expect(statistics.connections == clients.count)
            #expect(statistics.restarts == 0)
        }
    }

    @Test(arguments: Fault.named)
    func `Ninety-nine connections get every answer, three times over in one process`(fault: Fault) throws {
        let crowd = try Crowd()
        for _ in 0..<3 { try crowd.survive(fault) }
        #expect(try crowd.clients[0].statistics().faultsResumed == 3)
        #expect(try crowd.agent.stop() == .exited(0))
        #expect(try crowd.agent.store.list().count == 3)
    }

    @Test func `The same for all of these faults in turn, three times over in one process`() throws {
        let crowd = try Crowd()
        for _ in 0..<3 {
            for fault in Fault.named { try crowd.survive(fault) }
        }
        #expect(try crowd.clients[0].statistics().faultsResumed == 3 * Fault.named.count)
        #expect(try crowd.agent.stop() == .exited(0))
        #expect(try crowd.agent.store.list().count == 3 * Fault.named.count)
    }

    @Test func `Requests behind a fault on the same connection are lost with it`() throws {
        let agent = try AgentProcess()
        let victim = try agent.connect()
        #expect(try victim.ask("SET before kept") == "OK")
        try victim.send("FAULT nil-unwrap\nSET behind lost\n")
        #expect(try victim.line() == nil)
        let client = try agent.connect()
        #expect(try client.ask("GET before") == "VALUE kept")
        #expect(try client.ask("GET behind") == "NONE")
    }
}
