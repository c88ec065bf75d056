import CrashReports
import Glibc
import TestSupport
import Testing

/// As many faults as the process may resume in a test's time.
@Suite(.timeLimit(.minutes(10))) struct EnduranceTests {
    private static let count = 10_000
    /// Until as many, the report writer comes to know the images and functions that it meets.
    private static let warmUp = 1000

    /// What one fault may cost: the one page of the buried stack that its frames lie in, and as much again for what they owned.
    private static let bytesPerFault = 2 * 4096

    @Test func `After ten thousand resumed faults the process serves on, and all are accounted for`() throws {
        let agent = try AgentProcess()
        let witness = try agent.connect()
        #expect(try witness.ask("SET key kept") == "OK")
        // What is allocated once is not counted for each.
        for _ in 0..<Self.warmUp { try fault(agent) }
        let before = try agent.process.residentBytes()
        let buriedBefore = try witness.statistics().buriedStackBytes
        let clock = ContinuousClock()
        let start = clock.now
        for index in 0..<Self.count - Self.warmUp {
            try fault(agent)
            guard index.isMultiple(of: 500) else { continue }
            let answer = try witness.ask("GET key")
            if answer != "VALUE kept" {
                // Only a process that was restarted has forgotten it.
                Issue.record("after \(index) faults: \(answer); not resumed: \(try notResumed(agent))")
                return
            }
        }
        let duration = start.duration(to: clock.now)
        let growth = try agent.process.residentBytes() - before

        let statistics = try witness.statistics()
        #expect(statistics.faultsResumed == Self.count)
        #expect(statistics.restarts == 0)
        #expect(statistics.pid == agent.pid)
        #expect(statistics.connections == 1)
        let perFault = growth / (Self.count - Self.warmUp)
        let buried = (statistics.buriedStackBytes - buriedBefore) / (Self.count - Self.warmUp)
        print("\(Self.count) resumed faults in \(duration): \(perFault) bytes resident each, \(buried) of them stack")
        #expect(perFault < Self.bytesPerFault)

        #expect(try witness.ask("GET key") == "VALUE kept")
        // Who is ended while a report is written counts its faults twice.
        let limit = clock.now.advanced(by: .seconds(300))
        while try count(agent) < Self.count, clock.now < limit { usleep(200_000) }
        #expect(try agent.stop() == .exited(0))
        try checkReports(agent)
    }

    private func fault(_ agent: AgentProcess) throws {
        let victim = try agent.connect()
        try victim.send("FAULT nil-unwrap\n")
        try #require(try victim.line() == nil)
    }

    private func count(_ agent: AgentProcess) throws -> Int {
        try agent.store.reports().reduce(0) { $0 + $1.occurrences.count }
    }

    private func notResumed(_ agent: AgentProcess) throws -> [String] {
        try agent.store.reports().filter { $0.verdict.decision != .resume }
            .map { "\($0.fault?.signal.name ?? ""): \($0.verdict.reason) \($0.notes)" }
    }

    private func checkReports(_ agent: AgentProcess) throws {
        let listed = try agent.store.list()
        let reports = try agent.store.reports()
        #expect(Set(listed.map(\.id)) == Set(reports.map(\.id)))
        let groups = reports.filter { $0.occurrences.count > 1 }
        let occurrences = reports.reduce(0) { $0 + $1.occurrences.count }
        print("\(reports.count) reports, of which \(groups.count) are groups, for \(occurrences) faults")
        #expect(occurrences == Self.count)
        #expect(reports.allSatisfy { $0.occurrences.first <= $0.occurrences.last })
        #expect(reports.count < 1000, "a flood of equal faults is folded")
        #expect(reports.allSatisfy { !$0.notes.contains { $0.contains("found no room") } }, "no fault was lost")
    }
}
