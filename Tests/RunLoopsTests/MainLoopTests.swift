import TestSupport
import Testing

/// The main thread's loop with the main dispatch queue, in a process of its own: there it is on the main thread.
@Suite("The main thread's loop", .timeLimit(.minutes(10)))
struct MainLoopTests {
    /// Runs a scenario of the probe and returns the lines that it wrote.
    private func play(_ scenario: String) throws -> [String] {
        let run = try ProgramRun.run(BuiltProduct.path(of: "main-loop-probe"), [scenario])
        #expect(run.end == .exited(0), "\(run.errors.suffix(1000))")
        return run.output.split(separator: "\n").map(String.init)
    }

    @Test("A common mode is never empty, because of the main dispatch queue")
    func neverEmpty() throws {
        #expect(try play("never-empty") == ["false true", "timedOut timedOut", "false finished"])
    }

    @Test("Blocks of the main dispatch queue run inside the loop, on the main thread, in order")
    func dispatchBlocks() throws {
        #expect(try play("dispatch-blocks") == (0..<5).map { "\($0) main true" } + ["over"])
    }

    @Test("The main actor is on the main thread, before and after every suspension")
    func mainActor() throws {
        #expect(
            try play("main-actor") == ["task main", "slept main", "back main", "hop main", "joined main 1", "over"]
        )
    }

    @Test("The main queue is served in common modes only")
    func commonModesOnly() throws {
        #expect(
            try play("common-modes-only") == [
                "timedOut", "block in default", "handledSource", "block in private", "handledSource",
            ]
        )
    }

    @Test("The main queue counts as a handled source, also in a pass that only polls")
    func handledSource() throws {
        #expect(try play("handled-source") == ["block", "handledSource", "block", "handledSource", "timedOut"])
    }

    @Test("A run inside a block of the main queue does not serve it, and finishes when there is nothing else")
    func insideMainQueue() throws {
        #expect(
            try play("inside-main-queue") == [
                "outer", "empty true finished", "timer", "nested finished", "inner 1", "over false",
            ]
        )
    }

    @Test("A run inside a timer serves the main queue")
    func insideTimer() throws {
        #expect(try play("inside-timer") == ["block 2", "nested handledSource", "stopped"])
    }

    @Test("After a run inside a main-queue block that another mode's run served, the outermost run still serves it")
    func insideBoth() throws {
        #expect(try play("inside-both") == ["nested timedOut", "handledSource", "served", "stopped"])
    }

    @Test("After the main queue was served, a run lasts its time and does not spin")
    func staleReadiness() throws {
        #expect(
            try play("stale-readiness") == [
                "0", "handledSource", "1", "handledSource", "timer", "stopped true 1",
            ]
        )
    }

    @Test("Dispatch timers of the main queue fire on the main thread")
    func dispatchTimer() throws {
        #expect(try play("dispatch-timer") == Array(repeating: "timer main", count: 3) + ["over"])
    }

    @Test("A block and a job of the main actor wake a loop that sleeps")
    func whileAsleep() throws {
        #expect(try play("while-asleep") == ["block main", "handledSource", "actor main", "handledSource"])
    }

    @Test("The main thread's loop can be the executor of a task")
    func taskExecutor() throws {
        #expect(try play("task-executor") == ["task main", "slept main", "actor main", "back main", "over"])
    }

    @Test("Waiting for several modes ends when the main queue has work, if one of them is common")
    func waitingForAnyMode() throws {
        #expect(try play("waiting-for-any-mode") == ["false", "false", "true", "block", "handledSource", "false"])
    }

    @Test("Without a descriptor left, loops and modes work, and what needs one throws; later all works")
    func noDescriptors() throws {
        #expect(
            try play("no-descriptors") == [
                "main true finished",
                "mode true timer finished",
                "block finished",
                "wait false true",
                "thread Errno true",
                "port noResources true",
                "request system true",
                "background timer stopped",
                "descriptors again",
                "port handledSource",
                "main queue handledSource",
                "thread 42",
            ]
        )
    }
}
