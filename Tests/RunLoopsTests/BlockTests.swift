import RunLoops
import Testing

@Suite("Blocks", .timeLimit(.minutes(10)))
struct BlockTests {
    @Test("Blocks run once, in order; those queued meanwhile wait for the next turn of the pass")
    func order() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let observer = loop.traceStages(trace)
            loop.performWithoutWaking {
                trace.add("a")
                loop.performWithoutWaking { trace.add("late") }
            }
            loop.performWithoutWaking { trace.add("b") }
            loop.run(in: .default, for: .zero)
            observer.invalidate()
            trace.add("\(loop.run(in: .default, for: .zero))")
            return trace.entries
        }
        #expect(entries == ["entry", "timers?", "sources?", "a", "b", "late", "exit", "finished"])
    }

    @Test("A block runs in the first matching mode; common modes are looked up when it runs")
    func modes() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            for mode in ["x", "y"] as [HostRunLoop.Mode] { loop.addIdleSource(to: mode) }
            loop.performWithoutWaking(in: "x") { trace.add("x") }
            loop.performWithoutWaking(in: .common) { trace.add("common") }
            loop.performWithoutWaking(inAnyOf: ["x", "y"]) { trace.add("any") }
            loop.performWithoutWaking(inAnyOf: []) { trace.add("none") }
            loop.run(in: "y", for: .zero)
            loop.addCommonMode("y")
            loop.run(in: "y", for: .zero)
            loop.run(in: "x", for: .zero)
            loop.run(in: "x", for: .zero)
            return trace.entries
        }
        #expect(entries == ["any", "common", "x"])
    }

    @Test("Blocks that do not match keep their place in front of newer ones")
    func keptOrder() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            loop.performWithoutWaking(in: "x") { trace.add("first") }
            loop.performWithoutWaking { loop.performWithoutWaking(in: "x") { trace.add("second") } }
            loop.run(in: .default, for: .zero)
            loop.run(in: "x", for: .zero)
            return trace.entries
        }
        #expect(entries == ["first", "second"])
    }

    @Test("A run that is nested in a block sees only newer blocks")
    func nested() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            loop.performWithoutWaking {
                loop.performWithoutWaking { trace.add("new") }
                loop.run(in: .default, for: .zero)
                trace.add("back")
            }
            loop.performWithoutWaking { trace.add("rest") }
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["new", "back", "rest"])
    }

    @Test("Queueing a block does not wake the loop")
    func noWake() throws {
        let trace = Trace()
        let thread = NewThread { loop in
            loop.addIdleSource()
            trace.add("\(loop.run(in: .default, for: .seconds(50), returnAfterSourceHandled: true))")
            return loop.passCount
        }
        let loop = thread.loop
        waitUntilAsleep(loop)
        loop.performWithoutWaking {
            trace.add("block")
            loop.stop()
        }
        #expect(loop.isWaiting)
        #expect(trace.entries == [])
        loop.wakeUp()
        // The block runs in the pass that the wake-up ends: phase 13.
        #expect(try thread.join() == 1)
        #expect(trace.entries == ["block", "stopped"])
    }

    @Test("A block is released as soon as it has run, outside the loop's lock")
    func release() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            queue(in: loop, trace)
            loop.performWithoutWaking { trace.add("second") }
            loop.run(in: .default, for: .zero)
            queue(in: loop, trace)
            return trace
        }
        // The second one is released unrun at the end of the thread.
        #expect(entries.entries == ["first", "released 1", "second", "released 1"])
    }

    /// Queues a block whose only capture calls the loop when it is released.
    private func queue(in loop: HostRunLoop, _ trace: Trace) {
        let captured = AtDeinit { trace.add("released \(loop.allModes.count)") }
        loop.performWithoutWaking {
            trace.add("first")
            withExtendedLifetime(captured) {}
        }
    }
}

/// Runs a closure when it is released.
private final class AtDeinit: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }

    deinit {
        body()
    }
}
