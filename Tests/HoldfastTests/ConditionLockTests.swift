import CrashReports
import TestSupport
import Testing

/// Locks that are held by a field or a count, and not by a lock of the threads library.
@Suite(.timeLimit(.minutes(10))) struct ConditionLockTests {
    private func run(_ scenario: String) throws -> HostRun {
        try HostRun(scenario, program: BuiltProduct.path(of: "condition-lock-probe"))
    }

    @Test(
        arguments: [
            "lock", "lock-when", "try", "lock-after-others", "semaphore", "posix-semaphore", "tried-posix-semaphore",
            "group", "suspended",
        ]
    )
    func `A fault with one held is not resumed`(scenario: String) throws {
        let run = try run(scenario)
        #expect(try run.lines() == ["restarted"])
        #expect(try run.process.wait() == .exited(0))
        #expect(try run.store.onlyReport().verdict.reason.contains("lock"))
    }

    @Test(arguments: ["unlocked", "signalled", "posted", "left-group", "resumed", "slept"])
    func `Those that were let go are no obstacle`(scenario: String) throws {
        let run = try run(scenario)
        #expect(try run.lines() == ["free true true"])
        #expect(try run.process.wait() == .exited(0))
    }

    /// One without the functions that an NSConditionLock is told by.
    @Test func `With another Foundation nothing is resumed, and the log says so`() throws {
        let folder = try TemporaryFolder()
        let library = "\(folder.path)/libFoundation.so"
        let built = try ProgramRun.run(
            "/usr/bin/env",
            ["clang", "-shared", "-fPIC", "-Wl,-soname,libFoundation.so", "-o", library, "-x", "c", "/dev/null"]
        )
        #expect(built.end == .exited(0), "\(built.errors)")
        let run = try HostRun("own-code", prefix: ["/usr/bin/env", "LD_PRELOAD=\(library)"])
        #expect(try run.lines() == ["restarted 1"])
        #expect(try run.process.wait() == .exited(0))
        #expect(run.process.errors.contains("another NSConditionLock"), "\(run.process.errors)")
    }
}
