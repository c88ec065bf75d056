import CrashReports
import TestSupport
import Testing

/// A lock that the abandoned callout holds would never be let go.
@Suite(.timeLimit(.minutes(10))) struct LockTests {
    @Test(arguments: ["held-mutex", "held-read-lock", "exchanged-locks", "crossed-locks"])
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

    @Test(arguments: ["used-mutex", "used-mutex-again", "used-mutex-in-nested-run", "used-mutex-beside-flags"])
    func `A Mutex that is free is no obstacle where it was used before`(scenario: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.end == .exited(0))
        #expect(run.lines == ["entries 1", "resumed 1"])
    }

    private static let unshare = SentFaultTests.unshare + ["--mount-proc"]

    /// Whether this kernel lets a user make a namespace of processes with its own proc(5).
    private static var hasNamespaces: Bool {
        let command = unshare + ["/bin/true"]
        return (try? ProgramRun.run(command[0], Array(command.dropFirst())))?.end == .exited(0)
    }

    /// Its threads have small numbers, and the first one the smallest: one that memory is full of.
    @Test(
        .enabled(if: hasNamespaces),
        arguments: [
            ("used-mutex", "resumed 1"), ("used-mutex-again", "resumed 1"), ("used-mutex-in-nested-run", "resumed 1"),
            ("held-swift-mutex", "restarted 1"), ("held-global-swift-mutex", "restarted 1"),
            ("held-swift-mutex-deep-down", "restarted 1"),
        ]
    )
    func `It is the same for the first process of a container`(scenario: String, last: String) throws {
        let run = try ProbeRun(scenario, prefix: Self.unshare)
        #expect(run.end == .exited(0))
        #expect(run.lines.last == last)
    }

    /// `/proc/self/exe` is the loader then, whose file says nothing of the program's functions.
    @Test(arguments: [("held-swift-mutex", "restarted 1"), ("used-mutex", "resumed 1")])
    func `It is the same for a program that the loader was told to run`(scenario: String, last: String) throws {
        // The psABI's name for it.
        let run = try ProbeRun(scenario, prefix: ["/lib64/ld-linux-x86-64.so.2"])
        #expect(run.end == .exited(0))
        #expect(run.lines.last == last)
        let report = try #require(run.reports.first)
        let path = try BuiltProduct.path(of: "recovery-probe")
        #expect(report.process.name == "recovery-probe")
        #expect(report.process.executable == path)
        #expect(report.images.first?.path == path)
        #expect(report.verdict.reason.contains("lock") == (last == "restarted 1"), "\(report.verdict.reason)")
        #expect(report.thread.frames.contains { $0.function != nil })
    }
}
