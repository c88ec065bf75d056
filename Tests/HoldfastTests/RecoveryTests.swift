import CrashReports
import Glibc
import TestSupport
import Testing

/// What a resumed fault leaves behind in the thread: nothing.
@Suite(.timeLimit(.minutes(10))) struct RecoveryTests {
    @Test func `A property whose access was abandoned can be used again, and accesses are still checked`() throws {
        let run = try ProbeRun("exclusivity")
        #expect(run.end == .exited(0))
        #expect(
            run.lines == [
                "balance 51 limit 51", "a conflict is found, and what came after it runs", "resumed 101",
            ]
        )
        #expect(run.reports.last?.fault?.message?.contains("access conflict") == true)
    }

    @Test func `An outer access stays open while a nested callout faults, and ends in order`() throws {
        let run = try ProbeRun("outer-access")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["outer 12 inner 20", "outer 14 inner 22", "resumed 1"])
    }

    @Test func `The signal mask and the alternate stack are those from before`() throws {
        let run = try ProbeRun("thread-state")
        #expect(run.end == .exited(0))
        #expect(
            run.lines == [
                "blocked [12] stack true", "nil-unwrap same", "null-read same", "divide-by-zero same", "abort same",
                "int3 same", "null-call same", "resumed 6",
            ]
        )
    }

    @Test func `Nested runs go on after faults in them, each level to its end`() throws {
        let run = try ProbeRun("nested-run")
        #expect(run.end == .exited(0))
        let levels = run.lines.filter { $0.hasPrefix("nesting") }
        #expect(levels == ["nesting 3", "nesting 2", "nesting 1", "nesting 1"])
        #expect(run.lines.filter { $0.hasPrefix("notice") } == ["notice 1", "notice 2"])
        #expect(run.lines.last == "resumed 2")
        #expect(run.reports.map(\.loop?.nesting) == [2, 3])
    }

    @Test func `A forked child that faults has a report, and no part in its parent's capture`() throws {
        let run = try ProbeRun("forked-child")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["child ended by signal \(SIGILL)", "resumed 1"])
        // The child's comes from a spool file of its own.
        let child = try #require(run.reports.first { $0.verdict.decision == .terminate })
        let parent = try #require(run.reports.first { $0.verdict.decision == .resume })
        #expect(run.reports.count == 2)
        #expect(run.reports.map(\.fault?.number) == [1, 1])
        #expect(child.process.pid != parent.process.pid)
        #expect(child.location.contains("faultUd2"))
        #expect(parent.location.contains("faultNilUnwrap"))
    }

    @Test func `Stopping the host inside a nested run ends both`() throws {
        let run = try ProbeRun("stop-in-nested-run")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["nested run ended", "resumed 0"])
    }

    /// Its own faults do not reach it: a handler that always faults would spend the budget on itself.
    @Test func `A fault in the handler of faults is resumed, and later ones reach it`() throws {
        let run = try ProbeRun("fault-in-fault-handler")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["notice 1", "notice 3", "resumed 3"])
        #expect(run.reports.map(\.loop?.callout?.label) == ["probe", "crash messages", "probe"])
    }

    @Test func `A fault in the handler of a signal does not keep the next signal back`() throws {
        let run = try ProbeRun("fault-in-signal-handler")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["first", "second", "resumed 1"])
    }
}
