import CrashReports
import TestSupport
import Testing

/// A lock that the abandoned callout holds would never be let go.
@Suite(.timeLimit(.minutes(10))) struct LockTests {
    @Test(arguments: ["held-mutex", "held-read-lock", "exchanged-locks"])
    func `A fault with a lock of the threads library held is not resumed`(scenario: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 1"])
        let report = try #require(run.reports.first)
        #expect(report.verdict.decision == .restart)
        #expect(report.verdict.reason.contains("lock"), "\(report.verdict.reason)")
    }

    @Test(arguments: ["held-swift-mutex", "held-global-swift-mutex", "held-swift-mutex-deep-down"])
    func `A fault with a Mutex held is not resumed`(scenario: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 1"])
        let report = try #require(run.reports.first)
        #expect(report.verdict.decision == .restart)
        #expect(report.verdict.reason.contains("lock"), "\(report.verdict.reason)")
    }

    @Test func `Locks that were let go are no obstacle`() throws {
        let run = try ProbeRun("released-locks")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["entries 1", "locks are free", "resumed 1"])
    }

    @Test(arguments: ["used-mutex", "used-mutex-in-nested-run"])
    func `A Mutex that is free is no obstacle where it was used before`(scenario: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.end == .exited(0))
        #expect(run.lines == ["entries 1", "resumed 1"])
    }
}
