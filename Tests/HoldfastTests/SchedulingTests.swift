import TestSupport
import Testing

/// Who gives way to whom (sched(7)).
@Suite(.timeLimit(.minutes(10))) struct SchedulingTests {
    @Test func `The report writer gives way to all others, and its watchers do not`() throws {
        let run = try HostRun("scheduling", "threads")
        let lines = try run.lines()
        #expect(try run.process.wait() == .exited(0))
        let before = lines.prefix { $0 != "then" }
        // SCHED_OTHER is 0, and SCHED_BATCH 3.
        #expect(before.contains("main: policy 0 nice 0"))
        #expect(before.contains("holdfast-crash: policy 0 nice 0"))
        #expect(before.contains("holdfast-report: policy 3 nice 10"))
        #expect(before.contains("holdfast-stalls: policy 3 nice 0"))
        #expect(before.filter { $0.hasSuffix("nice 10") }.count == 1)
    }

    @Test func `All threads give way when another process serves`() throws {
        let run = try HostRun("scheduling", "threads")
        let lines = try run.lines()
        #expect(try run.process.wait() == .exited(0))
        #expect(lines.drop { $0 != "then" } == ["then", "policy 3 nice 19"])
    }

    @Test func `A thread that gives way does not hand that to the next process`() throws {
        let run = try HostRun("scheduling", "restart")
        #expect(try run.lines() == ["policy 0 nice 0", "policy 0 nice 0"])
        #expect(try run.process.wait() == .exited(0))
    }
}
