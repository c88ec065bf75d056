import CrashReports
import Glibc
import TestSupport
import Testing

/// Faults of what captures faults.
@Suite(.timeLimit(.minutes(10))) struct CaptureFaultTests {
    @Test func `A fault in the handler ends the process at once, and what was captured is reported`() throws {
        let run = try ProbeRun("fault-in-handler")
        #expect(run.end == .signalled(SIGSEGV))
        #expect(run.lines.isEmpty)
        let report = try #require(run.reports.first)
        #expect(run.reports.count == 1)
        #expect(report.fault?.signal.name == "SIGILL")
        #expect(report.fault?.number == 1)
        #expect(report.verdict.reason == "the process ended before a verdict was given")
    }

    @Test func `An uncaught C++ exception is reported with its type and its message`() throws {
        let run = try ProbeRun("cxx-exception")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 1"])
        let report = try #require(run.reports.first)
        #expect(report.verdict.decision == .restart)
        #expect(report.fault?.signal.name == "SIGABRT")
        #expect(report.fault?.exception?.type == "std::runtime_error")
        #expect(report.fault?.exception?.message == "an exception that nobody catches")
    }

    @Test func `A fault of the thread that makes reports restarts the process, and nothing is lost`() throws {
        let run = try ProbeRun("fault-in-report-writer")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 2"])
        // What the first fault left was written before the log was told of it.
        #expect(run.reports.map { $0.location.contains("WildPointer") } == [true, false])
        #expect(run.reports.last?.thread.name == "holdfast-report")
        #expect(run.reports.last?.verdict.decision == .restart)
    }
}
