import CrashReports
import Glibc
import TestSupport
import Testing

/// Where a fault is resumed, and where it must not be.
@Suite(.timeLimit(.minutes(10))) struct VerdictTests {
    /// A scenario that is not resumed, and why.
    private static let outside = "it happened outside of a callout of the loop and of a fault boundary"

    struct Refusal: CustomTestStringConvertible {
        let scenario: String
        let reason: String
        /// What the process says before its successor does.
        var before: [String] = []

        var testDescription: String { scenario }
    }

    static let refusals = [
        Refusal(scenario: "critical-section", reason: "it happened inside a critical section"),
        Refusal(
            scenario: "outer-critical-section",
            reason: "it happened inside a critical section",
            before: ["nested", "outer"]
        ),
        Refusal(scenario: "outside-of-callouts", reason: outside),
        Refusal(scenario: "other-thread", reason: outside),
        // The main queue runs its job: frames of libdispatch and of the concurrency runtime.
        Refusal(
            scenario: "main-actor-task",
            reason: "a library's frame lies between the application's: its lock or its invariant may be open"
        ),
        Refusal(
            scenario: "task-around-nested-run",
            reason: "a Swift task was running, and would never be resumed"
        ),
        Refusal(scenario: "detached-task", reason: outside),
        Refusal(
            scenario: "library-sandwich",
            reason: "a library's frame lies between the application's: its lock or its invariant may be open"
        ),
        Refusal(scenario: "budget", reason: "the budget of faults is spent", before: ["after 1", "after 2"]),
    ]

    @Test(arguments: refusals)
    func `What is not cleared restarts the process, and the report says why`(refusal: Refusal) throws {
        let run = try ProbeRun(refusal.scenario)
        #expect(run.end == .exited(0))
        #expect(run.lines == refusal.before + ["restarted 1"])
        let report = try #require(run.reports.last)
        #expect(report.verdict.decision == .restart)
        #expect(report.verdict.reason == refusal.reason)
        let top = report.thread.frames.first { $0.isUserCode }
        #expect(top?.function?.contains("faultNilUnwrap") == true)
        #expect(run.reports.dropLast().allSatisfy { $0.verdict.decision == .resume })
    }

    @Test func `A broken heap that the runtime finds while it fails is not taken for the runtime's failure`() throws {
        let run = try ProbeRun("heap-under-runtime")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 1"])
        let report = try #require(run.reports.first)
        #expect(report.verdict.decision == .restart)
        #expect(report.fault?.message?.contains("corrupted top size") == true)
    }

    @Test func `A critical section that has ended does not count`() throws {
        let run = try ProbeRun("critical-section-over")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["value", "resumed 2"])
    }

    @Test
    func `By default the process goes on after a fault, and hands over when it is quiet and the report is written`()
        throws
    {
        let run = try ProbeRun("restart-when-quiet")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["going on", "handing over, written true", "restarted 1"])
        #expect(run.reports.map(\.verdict.decision) == [.resume])
    }

    @Test func `Without restarts in place a fault that is not resumed ends the process as its signal says`() throws {
        let run = try ProbeRun("terminate")
        #expect(run.end == .signalled(SIGSEGV))
        #expect(run.lines == ["going on"])
        #expect(run.reports.map(\.verdict.decision) == [.resume, .terminate])
    }
}
