import RunLoops
import Testing

@Suite("Runs until a date, as in Foundation", .timeLimit(.minutes(10)))
struct RunFormTests {
    private typealias Instant = HostRunLoop.Instant

    @Test("A run of a mode with nothing in it does not start: empty, missing and common modes")
    func emptyModes() throws {
        let outcome = try onNewThread { loop -> [Bool] in
            let later = Instant.now.advanced(by: .seconds(50))
            loop.add(HostRunLoop.Observer(label: "o", activities: .all) { _, _ in }, to: "observed")
            return [HostRunLoop.Mode.default, "missing", "observed", .common].flatMap { mode in
                [loop.run(in: mode, before: later), loop.limitDate(in: mode) != nil]
            }
        }
        #expect(outcome == Array(repeating: false, count: 8))
    }

    @Test("A run of a mode is true whatever ends it: a source, the time, a stop, the last timer")
    func results() throws {
        let trace = Trace()
        let outcome = try onNewThread { loop -> [Bool] in
            let later = Instant.now.advanced(by: .seconds(50))
            var outcome: [Bool] = []
            let source = HostRunLoop.Source(label: "s") { _ in trace.add("source") }
            loop.add(source)
            source.signal()
            outcome.append(loop.run(in: .default, before: later))
            outcome.append(loop.run(in: .default, before: .now))
            outcome.append(loop.run(in: .default, before: .distantPast))
            loop.performWithoutWaking { loop.stop() }
            outcome.append(loop.run(in: .default, before: later))
            loop.add(HostRunLoop.Timer(label: "t", after: .zero) { _ in trace.add("timer") }, to: "timers")
            outcome.append(loop.run(in: "timers", before: later))
            outcome.append(loop.run(in: "timers", before: later))
            return outcome
        }
        #expect(outcome == [true, true, true, true, true, false])
        #expect(trace.entries == ["source", "timer"])
    }

    @Test("A run of a mode ends after the first source; the next one handles the second")
    func oneSource() throws {
        let trace = Trace()
        try onNewThread { loop in
            let sources = ["a", "b"].map { name in HostRunLoop.Source(label: name) { _ in trace.add(name) } }
            for source in sources {
                loop.add(source)
                source.signal()
            }
            loop.run(in: .default, before: .distantFuture)
            trace.add("between")
            loop.run(in: .default, before: .distantFuture)
        }
        #expect(trace.entries == ["a", "between", "b"])
    }

    @Test("A run until a date goes on after sources and stops, and does not end early")
    func untilDate() throws {
        let trace = Trace()
        try onNewThread { loop in
            let source = HostRunLoop.Source(label: "s") { _ in
                trace.add("source")
                loop.stop()
            }
            loop.add(source)
            let timer = HostRunLoop.Timer(label: "t", after: .zero, repeating: .milliseconds(5)) { timer in
                trace.add("timer")
                if trace.count("timer") < 4 { return source.signal() }
                source.invalidate()
                timer.invalidate()
            }
            loop.add(timer)
            loop.run(until: .now.advanced(by: .seconds(50)))
            trace.add("empty")
            loop.addIdleSource()
            let end = Instant.now.advanced(by: .milliseconds(30))
            loop.run(until: end)
            #expect(Instant.now >= end)
        }
        #expect(trace.entries == ["timer", "source", "timer", "source", "timer", "source", "timer", "empty"])
    }

    @Test("A run until a date that is over is one pass: what is due and queued runs once")
    func untilPast() throws {
        let trace = Trace()
        try onNewThread { loop in
            loop.addIdleSource()
            loop.performWithoutWaking { trace.add("block") }
            loop.add(HostRunLoop.Timer(label: "t", fireAt: .distantPast) { _ in trace.add("timer") })
            loop.run(until: .distantPast)
            trace.add("end")
            loop.traceStages(trace)
            loop.run(until: .now)
        }
        #expect(trace.entries == ["block", "timer", "end", "entry", "timers?", "sources?", "exit"])
    }

    @Test("A run until a date ends at once when nothing is left")
    func untilEmpty() throws {
        let trace = Trace()
        try onNewThread { loop in
            loop.run(until: .distantFuture)
            loop.add(HostRunLoop.Timer(label: "t", after: .milliseconds(2)) { _ in trace.add("timer") })
            loop.run(until: .distantFuture)
        }
        #expect(trace.entries == ["timer"])
    }

    @Test("The limit date is that of the next timer, the distant future for inputs alone, none for an empty mode")
    func limitDates() throws {
        let trace = Trace()
        try onNewThread { loop in
            let later = Instant.now.advanced(by: .seconds(50))
            let timer = HostRunLoop.Timer(label: "t", fireAt: later) { _ in }
            #expect(loop.limitDate(in: .default) == nil)
            loop.add(timer)
            #expect(loop.limitDate(in: .default) == later)
            loop.addIdleSource()
            #expect(loop.limitDate(in: .default) == later)
            timer.invalidate()
            #expect(loop.limitDate(in: .default) == .distantFuture)
            // The question is a pass: it fires and performs what is there.
            loop.add(HostRunLoop.Timer(label: "due", after: .zero) { _ in trace.add("due") })
            loop.performWithoutWaking { trace.add("block") }
            #expect(loop.limitDate(in: .default) == .distantFuture)
            #expect(loop.currentMode == nil)
        }
        #expect(trace.entries == ["block", "due"])
    }

    @Test("Runs of one pass each serve what is ready in turns: a timer that is always due does not keep a port waiting")
    func turnsOfShortRuns() throws {
        let served = try onNewThread { loop in
            let trace = Trace()
            let pipe = TestPipe()
            pipe.fill()
            try loop.add(pipe.portSource("p") { _ in trace.add("port") })
            loop.add(
                HostRunLoop.Timer(label: "t", after: .zero, repeating: .nanoseconds(1)) { _ in trace.add("timer") }
            )
            for _ in 0..<6 { loop.run(in: .default, for: .zero) }
            return trace.entries
        }
        #expect(served.count { $0 == "port" } == 3)
        #expect(served.count { $0 == "timer" } == 3)
    }
}
