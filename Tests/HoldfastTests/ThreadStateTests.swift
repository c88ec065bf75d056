import CrashReports
import TestSupport
import Testing

/// What the runtimes and the kernel keep for a thread outside of its stack is after an abandoned callout what it was before.
@Suite(.timeLimit(.minutes(10))) struct ThreadStateTests {
    @Test func `A task-local value of an abandoned callout is not the next one's`() throws {
        let run = try HostRun("state", "task-local")
        #expect(try run.lines() == ["tenant nobody", "tenant bob", "task of nobody", "resumed 1"])
        #expect(try run.process.wait() == .exited(0))
    }

    /// In a debug build `withValue` is a frame of the library.
    @Test func `A value bound by withValue is not the next callout's`() throws {
        let run = try HostRun("state", "task-local-with-value")
        let lines = try run.lines()
        #expect(lines == ["restarted"] || lines == ["tenant nobody", "tenant bob", "task of nobody", "resumed 1"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `What was bound around a nested run stays bound`() throws {
        let run = try HostRun("state", "nested-task-local")
        #expect(try run.lines() == ["inside bob", "outside nobody", "resumed 1"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `What was bound around the whole run stays bound`() throws {
        let run = try HostRun("state", "outer-task-local")
        #expect(try run.lines() == ["tenant bob", "resumed 1", "outside nobody"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test(arguments: ["catch-clause", "unwinding"])
    func `A C++ exception of an abandoned callout is not the next one's`(scenario: String) throws {
        let run = try HostRun("state", scenario)
        #expect(try run.lines() == ["current false uncaught 0", "current false uncaught 0", "resumed 1"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `A loop that runs in a catch clause resumes nothing`() throws {
        let run = try HostRun("state", "run-in-catch-clause")
        #expect(try run.lines() == ["restarted"])
        #expect(try run.process.wait() == .exited(0))
        #expect(try run.store.onlyReport().verdict.reason.contains("exception"))
    }

    @Test func `A fault in the initialiser of a C++ static is not resumed`() throws {
        let run = try HostRun("state", "static-initialiser")
        #expect(try run.lines() == ["restarted"])
        #expect(try run.process.wait() == .exited(0))
        #expect(try run.store.onlyReport().verdict.reason.contains("lock"))
    }

    @Test func `C++ statics that were made, or not, before the fault are no obstacle`() throws {
        let run = try HostRun("state", "statics-that-are-made")
        #expect(try run.lines() == ["resumed 1"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `A fault in the initialiser of a C++ thread_local is not resumed`() throws {
        let run = try HostRun("state", "thread-local-initialiser")
        #expect(try run.lines() == ["restarted"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test(arguments: ["trap-flag", "alignment-checks"])
    func `The processor's flags are as a callout begins with them`(scenario: String) throws {
        let run = try HostRun("state", scenario)
        #expect(try run.lines() == ["flags 0", "resumed 1"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `A signal that an abandoned callout has blocked is not blocked afterwards`() throws {
        let run = try HostRun("state", "blocked-signal")
        #expect(try run.lines() == ["blocked false false true", "blocked true", "resumed 2"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `What a callout that returned has blocked stays blocked, in a nested run, too`() throws {
        let run = try HostRun("state", "blocked-signal-in-nested-run")
        #expect(try run.lines() == ["inside true false", "outside true false", "resumed 2"])
        #expect(try run.process.wait() == .exited(0))
    }
}
