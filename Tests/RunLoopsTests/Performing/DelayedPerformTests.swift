import Glibc
import RunLoops
import SystemPackage
import Testing

@Suite("Performs after a delay and in the background", .timeLimit(.minutes(10)))
struct DelayedPerformTests {
    @Test("It runs once, never early, and keeps its mode from being empty until then")
    func neverEarly() throws {
        try onNewThread { loop in
            let ranAt = Cell<HostRunLoop.Instant?>(nil)
            let begin = HostRunLoop.Instant.now
            let perform = loop.perform(after: .milliseconds(20)) { ranAt.value = .now }
            #expect(!loop.isEmpty(.default) && perform.state == .pending)
            // Ends because the mode is empty: nothing else is in it.
            #expect(loop.run(in: .default, for: .seconds(50)) == .finished)
            let end = try #require(ranAt.value)
            #expect(begin.duration(to: end) >= .milliseconds(20))
            #expect(perform.state == .done)
        }
    }

    @Test("Without a delay, or with one that is past, it runs the next time that timers fire, in order")
    func zero() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.perform(after: .zero) {
                trace.add("zero")
                loop.perform(after: .zero) { trace.add("next pass") }
            }
            loop.perform(after: .seconds(-5)) { trace.add("past") }
            loop.run(in: .default, for: .zero)
            trace.add("-")
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["zero", "past", "-", "next pass"])
    }

    @Test("In several modes it runs once, in the first that runs; in another mode it waits")
    func modes() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource(to: "z")
            loop.perform(after: .zero, in: ["x", "y", .common]) { trace.add("once") }
            loop.run(in: "z", for: .zero)
            trace.add("-")
            for mode in ["y", "x", .default] as [HostRunLoop.Mode] { loop.run(in: mode, for: .zero) }
            trace.add("\(loop.isEmpty("x") && loop.isEmpty("y") && loop.isEmpty(.default))")
            return trace.entries
        }
        #expect(entries == ["-", "once", "true"])
    }

    @Test("A cancelled one never runs and does not keep its modes from being empty")
    func cancel() throws {
        try onNewThread { loop in
            let trace = Trace()
            let perform = loop.perform(after: .zero, in: [.default, "x"]) { trace.add("ran") }
            #expect(perform.cancel() && !perform.cancel() && perform.state == .cancelled)
            #expect(loop.isEmpty(.default) && loop.isEmpty("x"))
            #expect(loop.run(in: .default, for: .zero) == .finished)
            #expect(trace.entries == [])
        }
    }

    @Test("It reaches a loop that sleeps, without waking it before its time")
    func sleeping() throws {
        let thread = try HostRunLoop.LoopThread(name: "server")
        waitUntilAsleep(thread.loop)
        let before = thread.loop.passCount
        let pass = Cell<UInt64>(0)
        let loop = thread.loop
        loop.perform(after: .milliseconds(10)) { pass.value = loop.passCount }
        while pass.value == 0 { sched_yield() }
        #expect(pass.value == before)
    }

    @Test("In the background, a closure runs on a thread with a loop of its own and a name")
    func background() throws {
        let seen = Cell<String?>(nil)
        let main = HostRunLoop.current
        try HostRunLoop.performInBackground(label: "helper") {
            let loop = HostRunLoop.current
            let ran = Cell(false)
            loop.performWithoutWaking { ran.value = true }
            loop.run(in: .default, for: .zero)
            seen.value = "\(loop !== main) \(loop.isCurrent) \(ran.value) \(threadName())"
        }
        while seen.value == nil { sched_yield() }
        #expect(seen.value == "true true true helper")
    }
}
