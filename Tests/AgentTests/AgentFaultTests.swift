import CrashReports
import FaultInjection
import TestSupport
import Testing

/// Every fault, with what follows it and what is reported of it.
@Suite(.serialized, .timeLimit(.minutes(10))) struct AgentFaultTests {
    @Test(arguments: Fault.allCases)
    func `A fault has the outcome that the rules give it, and a report that explains it`(fault: Fault) throws {
        let agent = try AgentProcess()
        let witness = try agent.connect()
        #expect(try witness.ask("SET key kept") == "OK")
        let victim = try agent.connect()
        try victim.send("FAULT \(fault.rawValue)\n")
        #expect(try victim.line() == nil, "the connection ends without an answer")

        let isResumed = FaultExpectation(fault).verdict == .resume
        if !isResumed { try agent.waitForRestart() }
        // The same connection; the values went with the memory.
        #expect(try witness.ask("GET key") == (isResumed ? "VALUE kept" : "NONE"))
        let statistics = try witness.statistics()
        #expect(statistics.connections == 1)
        #expect(statistics.pid == agent.pid)
        #expect(statistics.restarts == (isResumed ? 0 : 1))
        #expect(statistics.faultsResumed == (isResumed ? 1 : 0))

        try agent.store.waitForReports(1)
        let summaries = try agent.store.list()
        let summary = try #require(summaries.first)
        let report = try agent.store.show(summary.id.rawValue)
        try check(report, fault, pid: agent.pid, number: 1)
        #expect(summary.verdict == report.verdict.decision)
        #expect(summary.signal == report.fault?.signal.name)
        #expect(summary.location.contains(fault.functionName))
        if let text = message(of: fault, isDebug: BuiltProduct.isDebug) {
            #expect(report.fault?.message?.contains(text) == true, "\(report.fault?.message ?? "no message")")
        }
        #expect(try agent.stop() == .exited(0))
        // The report may have been there before its record was let go of: this does that.
        _ = try agent.store.list()
        #expect(try agent.store.reportPaths().count == 1)
        #expect(try agent.store.spoolNames().isEmpty)
    }

    @Test func `All faults in turn in one process, and each report is valid by the published schema`() throws {
        let agent = try AgentProcess(AgentProcess.withoutCrashLoops)
        var restarts = 0
        // Faults are counted from 1 again after a restart.
        var number = 0
        var expected: [(fault: Fault, number: Int)] = []
        for fault in Fault.allCases {
            number += 1
            expected.append((fault, number))
            let victim = try agent.connect()
            try victim.send("FAULT \(fault.rawValue)\n")
            try #require(try victim.line() == nil)
            if FaultExpectation(fault).verdict == .restart {
                try agent.waitForRestart()
                // Faults in quicker succession have a test of their own.
                try agent.store.waitForReports(expected.count)
                restarts += 1
                number = 0
            }
            let statistics = try agent.statistics()
            #expect(statistics.pid == agent.pid)
            #expect(statistics.restarts == restarts)
            #expect(statistics.faultsResumed == number)
        }
        try agent.store.waitForReports(Fault.allCases.count)
        #expect(try agent.stop() == .exited(0))

        let summaries = try agent.store.list()
        #expect(summaries.count == Fault.allCases.count)
        let reports = try agent.store.reports().sorted { $0.timestamp < $1.timestamp }
        let order = summaries.map { $0.timestamp.microsecondsSinceEpoch / 1000 }
        #expect(order == order.sorted(by: >), "the newest is listed first")
        for (report, expected) in zip(reports, expected) {
            try check(report, expected.fault, pid: agent.pid, number: expected.number)
        }
        #expect(Set(reports.map(\.fingerprint)).count == reports.count, "no two have the same cause")

        let violations = try agent.store.violations()
        #expect(violations.texts.isEmpty)
        #expect(violations.count == Fault.allCases.count)
    }
}
