import CrashReports
import Glibc
import TestSupport
import Testing

/// Faults on threads that the host did not make, and on several at once.
@Suite(.timeLimit(.minutes(10))) struct ThreadFaultTests {
    @Test(arguments: ["overflow-on-plain-thread", "overflow-on-dispatch-worker", "overflow-on-pool-thread"])
    func `A stack overflow of any thread has a report`(scenario: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 1"])
        let report = try #require(run.reports.first)
        #expect(run.reports.count == 1)
        #expect(report.fault?.addressKind == .stackGuard)
        #expect(report.verdict.decision == .restart)
        #expect(!report.thread.isMain)
        let top = report.thread.frames.first { $0.isUserCode }
        #expect(top?.function?.contains("tackOverflow") == true, "\(top?.function ?? "none")")
    }

    @Test func `The signal stack of a thread is freed at its end`() throws {
        let run = try ProbeRun("signal-stacks-are-freed")
        #expect(run.lines == ["grown false", "resumed 0"])
    }

    /// Whoever decides first replaces the process; what the others captured by then is reported all the same.
    @Test func `Faults of several threads at one instant end in one restart, and no record is lost`() throws {
        let run = try ProbeRun("simultaneous-faults")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 1"])
        #expect(Set(run.reports.map(\.fault?.number)).count == run.reports.count)
        #expect((1...5).contains(run.reports.count))
        #expect(run.reports.contains { $0.verdict.decision == .restart })
        #expect(Set(run.reports.map(\.thread.id)).count == run.reports.count, "one each")
    }

    @Test func `Faults that wait while another ends the process have a verdict and their calls`() throws {
        let run = try ProbeRun("faults-during-verdict")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 1"])
        #expect(run.reports.count == 5)
        #expect(run.reports.allSatisfy { $0.verdict.decision == .restart })
        let others = run.reports.filter { !$0.thread.isMain }
        #expect(others.count == 4)
        #expect(others.allSatisfy { $0.verdict.reason == "a fault of another thread had ended the process" })
        #expect(others.allSatisfy { report in report.thread.frames.contains { $0.function == "faultNilUnwrap()" } })
    }
}
