import Glibc
import RecoveryTestSupport
import TestSupport
import Testing

@testable import RunLoops

/// What a nested run must not leave behind, and what must work inside one.
@Suite("Nested runs")
struct NestedRunTests {
    @Test("A busy port whose callout nests a run does not keep the timers of the outer run from firing")
    func fairness() throws {
        let calls = try onNewThread { loop in
            let calls = Cell(0)
            let pipe = TestPipe()
            pipe.fill()
            // It is never read: always ready.
            let port = pipe.portSource("busy") { _ in loop.run(in: "inner", for: .zero) }
            try loop.add(port)
            let inner = HostRunLoop.Timer(label: "inner", after: .zero, repeating: .nanoseconds(1)) { _ in }
            loop.add(inner, to: "inner")
            let outer = HostRunLoop.Timer(label: "outer", after: .zero, repeating: .nanoseconds(1)) { _ in
                calls.value += 1
            }
            loop.add(outer)
            for _ in 0..<30 { loop.run(in: .default, for: .zero) }
            return calls.value
        }
        #expect(calls >= 10)
    }

    @Test("A thread that is told to end leaves run(until:) too")
    func runUntil() throws {
        let thread = try HostRunLoop.LoopThread(name: "until")
        let isInside = Cell(false)
        thread.loop.perform {
            isInside.value = true
            HostRunLoop.current.addIdleSource()
            HostRunLoop.current.run(until: .distantFuture)
        }
        while !isInside.value { sched_yield() }
        thread.stop()
        #expect(thread.join(within: .seconds(60)) != nil)
    }

    @Test("After a nested run in a task's job, the run around it is known to be in no task again")
    func taskIsOver() throws {
        let states = try onNewThread { loop in
            let states = Cell<[Bool]>([])
            loop.addIdleSource()
            Task(executorPreference: loop) {
                synchronously { _ = try? loop.performAndWait { states.value.append(hf_test_run_is_in_task()) } }
                loop.performWithoutWaking {
                    states.value.append(hf_test_run_is_in_task())
                    loop.stop()
                }
                loop.wakeUp()
            }
            loop.run(in: .default, for: .seconds(60))
            return states.value
        }
        #expect(states == [true, false])
    }

    @Test("A port source that could not be added again stays among the common items")
    func failedRollback() throws {
        try onNewThread { loop in
            let pipe = TestPipe()
            let (first, second) = (pipe.portSource("first") { _ in }, pipe.portSource("second") { _ in })
            try loop.add(first, to: "other")
            try loop.add(second, to: .common)
            // The descriptor is in use there: it stays out.
            loop.addCommonMode("other")
            #expect(throws: RunLoopError.self) { try loop.add(second, to: .common) }
            #expect(loop.contains(second, in: .common))
            #expect(loop.contains(second, in: .default))
        }
    }

    @Test("A fault in the cancel closure for another thread's loop costs that closure, and not the callout around it")
    func foreignCancel() throws {
        let other = try HostRunLoop.LoopThread(name: "other")
        let otherLoop = other.loop
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.setAbandonHandler { trace.add("abandoned \($0.label)") }
            let source = HostRunLoop.Source(
                label: "shared",
                cancel: { loop, _ in if loop === otherLoop { hf_test_abandon_callout() } },
                perform: { _ in }
            )
            otherLoop.add(source)
            loop.add(source)
            loop.performWithoutWaking {
                source.invalidate()
                trace.add("went on")
            }
            loop.run(in: .default, for: .zero)
            trace.add("\(loop.contains(source)) \(otherLoop.contains(source)) \(loop.isEmpty(.default))")
            return trace.entries
        }
        other.stop()
        other.join()
        #expect(entries == ["abandoned shared", "went on", "false false true"])
    }

    @Test("A run in an afterWaiting observer serves what ended the wait; the run around it serves nothing that is gone")
    func afterWaiting() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let pipe = TestPipe()
            try loop.add(
                pipe.portSource("p") { _ in
                    pipe.takeByte()
                    trace.add("port \(loop.nesting)")
                }
            )
            let nesting = HostRunLoop.Observer(label: "o", activities: .afterWaiting, repeats: false) { _, _ in
                trace.add("\(loop.run(in: .default, for: .zero, returnAfterSourceHandled: true))")
            }
            loop.add(nesting)
            pipe.fill()
            trace.add("\(loop.run(in: .default, for: .milliseconds(20), returnAfterSourceHandled: true))")
            let timer = HostRunLoop.Timer(label: "t", after: .zero) { _ in trace.add("timer \(loop.nesting)") }
            loop.add(
                HostRunLoop.Observer(label: "o", activities: .afterWaiting, repeats: false) { _, _ in
                    loop.run(in: .default, for: .zero)
                }
            )
            loop.add(timer)
            loop.run(in: .default, for: .milliseconds(20))
            return trace.entries
        }
        #expect(entries == ["port 2", "handledSource", "timedOut", "timer 2"])
    }
}
