import RunLoops
import Testing

@Suite("The order of a pass", .timeLimit(.minutes(10)))
struct PassOrderTests {
    @Test("A pass that sleeps goes through all stages in order")
    func sleepingPass() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.traceStages(trace)
            loop.add(
                HostRunLoop.Timer(label: "t", after: .milliseconds(1)) { _ in
                    trace.add("timer")
                    loop.performWithoutWaking { trace.add("block of timer") }
                }
            )
            loop.performWithoutWaking { trace.add("block") }
            trace.add("\(loop.run(in: .default, for: .seconds(10)))")
            return trace.entries
        }
        #expect(
            entries == [
                "entry", "timers?", "sources?", "block", "sleep", "woke", "timer", "block of timer", "exit", "finished",
            ]
        )
    }

    @Test("A source makes the pass poll: no sleep, and its blocks run before the port is served")
    func pollingPass() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.traceStages(trace)
            let source = HostRunLoop.Source(label: "s") { _ in
                trace.add("source")
                loop.performWithoutWaking { trace.add("block of source") }
            }
            loop.add(source)
            let pipe = TestPipe()
            pipe.fill()
            try loop.add(
                pipe.portSource("p") { _ in
                    trace.add("port")
                    loop.performWithoutWaking { trace.add("block of port") }
                }
            )
            source.signal()
            trace.add("\(loop.run(in: .default, for: .seconds(10), returnAfterSourceHandled: true))")
            return trace.entries
        }
        #expect(
            entries == [
                "entry", "timers?", "sources?", "source", "block of source", "port", "block of port", "exit",
                "handledSource",
            ]
        )
    }

    @Test("A limit of zero is one whole pass without sleep, in which a due timer fires")
    func zeroLimit() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.traceStages(trace)
            loop.addIdleSource()
            loop.add(HostRunLoop.Timer(label: "t", fireAt: .now) { _ in trace.add("timer") })
            trace.add("\(loop.run(in: .default, for: .zero))")
            trace.add("\(loop.run(in: .default, for: .seconds(-10)))")
            return trace.entries
        }
        #expect(
            entries == [
                "entry", "timers?", "sources?", "timer", "exit", "timedOut",
                "entry", "timers?", "sources?", "exit", "timedOut",
            ]
        )
    }

    @Test("Ports that are ready together are served one per pass")
    func onePortPerPass() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let pipes = (0..<3).map { _ in TestPipe() }
            for (index, pipe) in pipes.enumerated() {
                pipe.fill()
                try loop.add(
                    pipe.portSource("p") { _ in
                        pipe.takeByte()
                        trace.add("port \(index)")
                    }
                )
            }
            for _ in 0..<4 {
                let before = trace.entries.count
                loop.run(in: .default, for: .zero)
                trace.add("pass \(trace.entries.count - before)")
            }
            return trace.entries
        }
        #expect(entries.filter { $0.hasPrefix("pass") } == ["pass 1", "pass 1", "pass 1", "pass 0"])
        #expect(Set(entries.filter { $0.hasPrefix("port") }) == ["port 0", "port 1", "port 2"])
    }

    @Test("A nested run has its own mode and stages, and the outer one goes on behind it")
    func nestedRun() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.traceStages(trace)
            loop.traceStages(in: "inner", trace)
            loop.addIdleSource(to: "inner")
            let source = HostRunLoop.Source(label: "s") { _ in
                trace.add("\(loop.nesting) \(loop.currentMode?.rawValue ?? "none")")
                trace.add("\(loop.run(in: "inner", for: .zero))")
                trace.add("\(loop.nesting) \(loop.currentMode?.rawValue ?? "none")")
            }
            loop.add(source)
            source.signal()
            let inner = HostRunLoop.Observer(label: "mode", activities: .beforeSources) { _, _ in
                trace.add("\(loop.nesting) \(loop.currentMode?.rawValue ?? "none")")
            }
            loop.add(inner, to: "inner")
            loop.run(in: .default, for: .zero)
            trace.add("\(loop.nesting) \(loop.currentMode?.rawValue ?? "none")")
            return trace.entries
        }
        #expect(
            entries == [
                "entry", "timers?", "sources?", "1 default",
                "entry", "timers?", "sources?", "2 inner", "exit", "timedOut",
                "1 default", "exit", "0 none",
            ]
        )
    }

    @Test("A source that signals itself starves neither timers nor ports")
    func noStarvation() throws {
        let (entries, passes) = try onNewThread { loop in
            let trace = Trace()
            let pipe = TestPipe()
            pipe.fill()
            let cell = Cell<HostRunLoop.Source?>(nil)
            let source = HostRunLoop.Source(label: "s") { _ in cell.value?.signal() }
            cell.value = source
            loop.add(source)
            try loop.add(
                pipe.portSource("p") { _ in
                    trace.add("port")
                    if trace.count("port") == 20 { loop.stop() }
                }
            )
            loop.add(
                HostRunLoop.Timer(label: "t", after: .zero, repeating: .nanoseconds(1)) { _ in trace.add("timer") }
            )
            source.signal()
            loop.run(in: .default, for: .seconds(10))
            cell.value = nil
            return (trace.entries, loop.passCount)
        }
        #expect(passes == 40)
        #expect(entries.count { $0 == "timer" } == 20)
    }
}
