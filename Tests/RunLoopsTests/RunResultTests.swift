import RunLoops
import Testing

@Suite("Why a run ends", .timeLimit(.minutes(10)))
struct RunResultTests {
    @Test("An empty mode, a missing one and the pseudo mode finish at once, without observers")
    func empty() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.traceStages(trace)
            trace.add("\(loop.run(in: .default, for: .seconds(10)))")
            trace.add("\(loop.run(in: "missing", for: .seconds(10)))")
            loop.addIdleSource()
            trace.add("\(loop.run(in: .common, for: .seconds(10)))")
            trace.add("\(loop.allModes == [.default])")
            return trace.entries
        }
        #expect(entries == ["finished", "finished", "finished", "true"])
    }

    @Test("A stop is lost to a limit of zero and to a handled source")
    func precedence() throws {
        let results = try onNewThread { loop in
            var results: [HostRunLoop.RunResult] = []
            let source = HostRunLoop.Source(label: "s") { _ in loop.stop() }
            loop.add(source)
            source.signal()
            results.append(loop.run(in: .default, for: .zero))
            source.signal()
            results.append(loop.run(in: .default, for: .seconds(10), returnAfterSourceHandled: true))
            source.signal()
            results.append(loop.run(in: .default, for: .seconds(10)))
            // None of the lost ones is remembered.
            results.append(loop.run(in: .default, for: .milliseconds(1)))
            return results
        }
        #expect(results == [.timedOut, .handledSource, .stopped, .timedOut])
    }

    @Test("Stopping from an entry observer skips the passes but not the exit observers")
    func stopAtEntry() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            loop.traceStages(trace)
            let observer = HostRunLoop.Observer(label: "o", activities: .entry) { _, _ in loop.stop() }
            loop.add(observer)
            trace.add("\(loop.run(in: .default, for: .seconds(10)))")
            return trace.entries
        }
        #expect(entries == ["entry", "exit", "stopped"])
    }

    @Test("Stopping from an exit observer, or while the loop does not run, does nothing")
    func lostStops() throws {
        let results = try onNewThread { loop in
            loop.addIdleSource()
            let observer = HostRunLoop.Observer(label: "o", activities: .exit) { _, _ in loop.stop() }
            loop.add(observer)
            loop.stop()
            return [
                loop.run(in: .default, for: .milliseconds(1)), loop.run(in: .default, for: .milliseconds(1)),
            ]
        }
        #expect(results == [.timedOut, .timedOut])
    }

    @Test("Neither timers nor blocks count as handled sources")
    func notSources() throws {
        let result = try onNewThread { loop in
            loop.addIdleSource()
            loop.add(HostRunLoop.Timer(label: "t", fireAt: .now) { _ in })
            loop.performWithoutWaking {}
            return loop.run(in: .default, for: .milliseconds(5), returnAfterSourceHandled: true)
        }
        #expect(result == .timedOut)
    }

    @Test("A mode whose only content was a block sleeps after it, and finishes when woken")
    func onlyBlock() throws {
        let (entries, timed) = try onNewThread { loop in
            let trace = Trace()
            loop.traceStages(trace)
            loop.performWithoutWaking { trace.add("block") }
            let timed = loop.run(in: .default, for: .milliseconds(2))
            loop.performWithoutWaking { loop.wakeUp() }
            trace.add("\(loop.run(in: .default, for: .seconds(10)))")
            return (trace.entries, timed)
        }
        #expect(timed == .timedOut)
        #expect(
            entries == [
                "entry", "timers?", "sources?", "block", "sleep", "woke", "exit",
                "entry", "timers?", "sources?", "sleep", "woke", "exit", "finished",
            ]
        )
    }

    @Test("A run of a long time is one sleep: an idle loop makes no wake-ups")
    func idle() throws {
        let passes = try onNewThread { loop in
            loop.addIdleSource()
            loop.run(in: .default, for: .milliseconds(50))
            return loop.passCount
        }
        #expect(passes == 1)
    }

    @Test("The limit of an outer run wakes an inner one once, and ends the outer one later")
    func outerLimit() throws {
        let (results, passes) = try onNewThread { loop in
            loop.addIdleSource()
            loop.addIdleSource(to: "inner")
            let inner = Cell<HostRunLoop.RunResult?>(nil)
            let passes = Cell<UInt64>(0)
            loop.performWithoutWaking {
                let before = loop.passCount
                inner.value = loop.run(in: "inner", for: .milliseconds(1500))
                passes.value = loop.passCount - before
            }
            // Far from each other and from now, for a machine that stands still for a moment.
            let outer = loop.run(in: .default, for: .milliseconds(500))
            return ([inner.value, outer], passes.value)
        }
        #expect(results == [.timedOut, .timedOut])
        #expect(passes == 2)
    }

    @Test("run() ends when it is stopped, and when nothing is left")
    func runForEver() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let source = loop.addIdleSource()
            loop.add(HostRunLoop.Timer(label: "t", after: .milliseconds(1)) { _ in loop.stop() })
            loop.run()
            trace.add("stopped")
            loop.add(HostRunLoop.Timer(label: "t", after: .milliseconds(1)) { _ in source.invalidate() })
            loop.run()
            trace.add("finished")
            return trace.entries
        }
        #expect(entries == ["stopped", "finished"])
    }
}
