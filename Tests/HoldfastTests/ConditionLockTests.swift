import CrashReports
import TestSupport
import Testing

/// Locks that are held by a field or a count, and not by a lock of the threads library.
@Suite(.timeLimit(.minutes(10))) struct ConditionLockTests {
    private func run(_ scenario: String) throws -> HostRun {
        try HostRun(scenario, program: BuiltProduct.path(of: "condition-lock-probe"))
    }

    @Test(arguments: ["lock", "lock-when", "try", "lock-after-others", "semaphore"])
    func `A fault with one held is not resumed`(scenario: String) throws {
        let run = try run(scenario)
        #expect(try run.lines() == ["restarted"])
        #expect(try run.process.wait() == .exited(0))
        #expect(try run.store.onlyReport().verdict.reason.contains("lock"))
    }

    @Test(arguments: ["unlocked", "signalled"])
    func `Those that were let go are no obstacle`(scenario: String) throws {
        let run = try run(scenario)
        #expect(try run.lines() == ["free true true"])
        #expect(try run.process.wait() == .exited(0))
    }
}
