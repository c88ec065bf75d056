import CrashReports
import Glibc
import TestSupport
import Testing

/// What a process keeps in memory after its faults.
@Suite(.timeLimit(.minutes(5))) struct MemoryTests {
    @Test func `Symbols that a report needed are given back after a while, and read again for the next one`() throws {
        let agent = try AgentProcess()
        try commit("nil-unwrap", in: agent)
        try waitForReports(1, of: agent)
        let most = try agent.process.residentBytes()
        // They are kept for ten seconds after the last fault.
        let deadline = Deadline(.seconds(120))
        while try agent.process.residentBytes() > most - (8 << 20), !deadline.hasPassed { usleep(100_000) }
        #expect(try agent.process.residentBytes() <= most - (8 << 20), "of \(most)")
        try commit("overflow", in: agent)
        try waitForReports(2, of: agent)
        #expect(try agent.store.reports().contains { $0.place?.contains("faultOverflow()") == true })
        #expect(try agent.statistics().faultsResumed == 2)
    }

    private func commit(_ fault: String, in agent: AgentProcess) throws {
        let victim = try agent.connect()
        try victim.send("FAULT \(fault)\n")
        #expect(try victim.line() == nil)
    }

    private func waitForReports(_ count: Int, of agent: AgentProcess) throws {
        let deadline = Deadline(.seconds(60))
        while try agent.store.reports().count < count, !deadline.hasPassed { usleep(10_000) }
    }
}
