import Glibc
import RecoveryTestSupport
import RunLoops
import Testing

@Suite("Performing and waiting", .timeLimit(.minutes(10)))
struct PerformAndWaitTests {
    private struct Refusal: Error, Equatable {
        let reason: String
    }

    @Test("The caller gets what the closure returned or threw, from the loop's thread")
    func results() throws {
        let thread = try HostRunLoop.LoopThread(name: "server")
        let loop = thread.loop
        #expect(try loop.performAndWait { loop.isCurrent && loop.nesting == 1 })
        #expect(try loop.performAndWait(in: .default, within: .seconds(50)) { 42 } == 42)
        #expect(throws: Refusal(reason: "no")) {
            try loop.performAndWait { throw Refusal(reason: "no") }
        }
    }

    @Test("On the loop's own thread it runs at once, in whatever mode, as a callout of its own")
    func ownThread() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.setAbandonHandler { trace.add("\($0.kind) \($0.label) in \($0.mode)") }
            trace.add("\(try loop.performAndWait(in: "elsewhere") { 1 })")
            loop.performWithoutWaking(in: "x") {
                let outer = hf_test_current_callout_stack()
                trace.add("\((try? loop.performAndWait { hf_test_current_callout_stack() }) != outer)")
                do {
                    try loop.performAndWait(label: "bad") { hf_test_abandon_callout() }
                } catch {
                    trace.add("\(error)")
                }
                trace.add("\(outer == hf_test_current_callout_stack())")
            }
            loop.run(in: "x", for: .zero)
            return trace.entries
        }
        #expect(entries == ["1", "true", "block bad in x", "the perform faulted and was abandoned", "true"])
    }

    @Test("When the time is over before it ran, it never runs")
    func timeOver() throws {
        try onNewThread { loop in
            // This loop does not run while the other thread waits for it.
            let trace = Trace()
            let waiter = NewThread { _ in
                for limit in [Duration.milliseconds(1), .zero, .seconds(-1)] {
                    #expect(throws: HostRunLoop.PerformError.timeOver) {
                        try loop.performAndWait(within: limit) { trace.add("ran") }
                    }
                }
            }
            try waiter.join()
            #expect(loop.isEmpty(.default))
            loop.addIdleSource()
            loop.run(in: .default, for: .zero)
            #expect(trace.entries == [])
        }
    }

    @Test("When the time is over while it runs, it goes on, and the caller is told so")
    func timeOverWhileRunning() throws {
        let thread = try HostRunLoop.LoopThread(name: "server")
        let (isRunning, mayEnd, trace) = (Cell(false), Cell(false), Trace())
        // Begins to wait when it runs: a limit of any length is over before it may end, and this one not before it begins.
        thread.loop.perform {
            while !isRunning.value { sched_yield() }
        }
        let waiter = NewThread { _ in
            _ = #expect(throws: HostRunLoop.PerformError.timeOverWhileRunning) {
                try thread.loop.performAndWait(order: 1, within: .seconds(2)) {
                    trace.add("begun")
                    while !mayEnd.value { sched_yield() }
                    trace.add("ended")
                }
            }
        }
        isRunning.value = true
        try waiter.join()
        mayEnd.value = true
        _ = try thread.loop.performAndWait { trace.add("next") }
        #expect(trace.entries == ["begun", "ended", "next"])
    }

    @Test("A fault ends the wait")
    func abandoned() throws {
        let thread = try HostRunLoop.LoopThread(name: "server")
        #expect(throws: HostRunLoop.PerformError.abandoned) {
            try thread.loop.performAndWait { hf_test_abandon_callout() }
        }
        #expect(try thread.loop.performAndWait { 1 } == 1)
    }

    @Test("The end of the loop's thread ends the wait, and nobody waits after that")
    func threadEnded() throws {
        let thread = try HostRunLoop.LoopThread(name: "server")
        let loop = thread.loop
        // In a mode in which the loop never runs.
        let waiters = (0..<3).map { _ in
            NewThread { _ in
                _ = #expect(throws: HostRunLoop.PerformError.threadEnded) {
                    try loop.performAndWait(in: "never") {}
                }
            }
        }
        while loop.isEmpty("never") { sched_yield() }
        thread.stop()
        for waiter in waiters { try waiter.join() }
        thread.join()
        #expect(throws: HostRunLoop.PerformError.threadEnded) { try loop.performAndWait {} }
    }
}
