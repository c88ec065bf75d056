import TestSupport
import Testing

/// Who gives way to whom (sched(7)).
///
/// SCHED_OTHER is 0, and SCHED_BATCH 3.
@Suite(.timeLimit(.minutes(10))) struct SchedulingTests {
    @Test func `Threads give way as far as nobody waits for them`() throws {
        let run = try HostRun("scheduling", "threads")
        let lines = try run.lines()
        #expect(try run.process.wait() == .exited(0))
        let before = lines.prefix { $0 != "another serves" }
        #expect(before.contains("main: policy 0 nice 0"))
        #expect(before.contains("holdfast-crash: policy 0 nice 0"))
        #expect(before.contains("holdfast-report: policy 3 nice 0"))
        #expect(before.contains("holdfast-stalls: policy 3 nice 0"))
        #expect(lines[before.count...] == ["another serves", "policy 3 nice 0", "the end", "policy 3 nice 10"])
    }

    @Test func `What finishes the reports of the process before gives way to all others`() throws {
        let run = try HostRun("scheduling", "finish")
        #expect(try run.lines() == ["holdfast-report: policy 3 nice 0", "holdfast-report: policy 3 nice 10"])
        #expect(try run.process.wait() == .exited(0))
    }

    @Test func `A thread that gives way does not hand that to the next process`() throws {
        let run = try HostRun("scheduling", "restart")
        #expect(try run.lines() == ["policy 0 nice 0", "policy 0 nice 0"])
        #expect(try run.process.wait() == .exited(0))
    }
}
