import CrashReports
import Glibc
import TestSupport
import Testing

/// Processes that end themselves, threads that block signals, and a process without a free descriptor.
@Suite(.timeLimit(.minutes(10))) struct EndingTests {
    @Test(arguments: ["exit", "quick-exit", "exit-on-thread", "exit-from-main"])
    func `A process that has called exit ends by a fault of its exit handlers`(scenario: String) throws {
        let run = try HostRun("ending", scenario)
        #expect(try run.lines() == [])
        #expect(try run.process.wait() == .signalled(SIGILL))
        let report = try run.store.onlyReport()
        #expect(report.verdict.decision == .terminate)
        #expect(report.verdict.reason.contains("exit"), "\(report.verdict.reason)")
    }

    @Test func `That a forked child calls exit does not end its parent`() throws {
        let run = try HostRun("ending", "exit-in-child")
        #expect(try run.lines() == ["child exited 5", "restarted"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test(arguments: [
        ("masked-main", "resumed 1"), ("masked-thread", "restarted"), ("masked-worker", "restarted"),
        ("masked-task", "restarted"), ("masked-of-old", "restarted"),
    ])
    func `A thread that blocks all signals has a report of its fault`(scenario: String, last: String) throws {
        let run = try HostRun("ending", scenario)
        #expect(try run.line() == "blocked false")
        #expect(try run.lines() == [last])
        #expect(try run.process.wait() == .exited(0))
        #expect(try run.store.onlyReport().fault.signal.name == "SIGSEGV")
    }

    @Test func `So has a loop's thread`() throws {
        let run = try HostRun("ending", "masked-loop")
        #expect(try run.lines() == ["blocked false", "resumed 1"])
        #expect(try run.process.wait() == .exited(0))
        #expect(try run.store.onlyReport().fault.signal.name == "SIGSEGV")
    }

    @Test(arguments: ["masked-handler", "masked-wait", "masked-epoll", "masked-before-host"])
    func `So has what runs with a mask of the kernel's making`(scenario: String) throws {
        let run = try HostRun("ending", scenario)
        #expect(try run.lines() == ["restarted"])
        #expect(try run.process.wait() == .exited(0))
        #expect(try run.store.onlyReport().fault.signal.name == "SIGSEGV")
    }

    @Test func `A mask that the process began with is no obstacle on any thread`() throws {
        let run = try HostRun("ending", "masked-by-parent")
        #expect(try run.lines() == ["blocked false", "restarted"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `A fault is resumed where no descriptor is left`() throws {
        let run = try HostRun("ending", "descriptor-limit", shell: "ulimit -n 64; exec \"$@\"")
        #expect(try run.lines() == ["no descriptor is left: true", "the loop goes on", "resumed 3"])
        #expect(try run.process.wait() == .exited(0))
    }
}
