import Glibc
import RunLoops
import Testing

/// What libuv asserts of its loop and of handles that run in every turn (test-loop-*.c, test-idle.c, test-metrics.c and others).
///
/// Elsewhere: `loop_stop_before_run` in `RunResultTests` (libuv keeps such a stop, CFRunLoop drops it, and so does this loop);
/// `loop_close` and use after it in `ModeTests`; `embed` in `AnyModeTests`: what a loop waits in is not public here, waiting for
/// all its modes is.
@Suite("libuv's tests: the loop", .timeLimit(.minutes(10)))
struct LibuvLoopTests {
    typealias Source = HostRunLoop.Source
    typealias Observer = HostRunLoop.Observer
    typealias Timer = HostRunLoop.Timer

    @Test("loop_stop: a stop ends one run after its pass, and the next run goes on")
    func stop() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let timer = Timer(label: "t", after: .zero, repeating: .nanoseconds(1)) { _ in
                trace.add("timer")
                loop.stop()
                // The pass goes on to its end.
                loop.performWithoutWaking { trace.add("block") }
            }
            loop.add(timer)
            for _ in 0..<2 { trace.add("\(loop.run(in: .default, for: .seconds(50)))") }
            timer.invalidate()
            trace.add("\(loop.run(in: .default, for: .seconds(50)))")
            return trace.entries
        }
        #expect(entries == ["timer", "block", "stopped", "timer", "block", "stopped", "finished"])
    }

    @Test("loop_alive: a loop is alive with any item but an observer, and until the last of them has gone")
    func alive() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            func note() { trace.add(loop.isEmpty(.default) ? "empty" : "alive") }
            note()
            let observer = Observer(label: "o", activities: .all) { _, _ in }
            loop.add(observer)
            note()
            let (source, timer) = (Source(label: "s") { _ in }, Timer(label: "t", after: .seconds(1000)) { _ in })
            let port = TestPipe().portSource("p") { _ in }
            loop.add(source)
            loop.add(timer)
            try loop.add(port)
            note()
            source.invalidate()
            timer.invalidate()
            note()
            loop.remove(port)
            note()
            loop.performWithoutWaking {}
            note()
            loop.run(in: .default, for: .zero)
            note()
            return trace.entries
        }
        #expect(entries == ["empty", "empty", "alive", "alive", "empty", "alive", "empty"])
    }

    @Test("loop_backend_timeout: the next deadline is that of the earliest timer, if there is one")
    func nextDeadline() throws {
        try onNewThread { loop in
            #expect(loop.nextTimerFireDate(in: .default) == nil)
            loop.addIdleSource()
            #expect(loop.nextTimerFireDate(in: .default) == nil)
            let (late, early) = (
                Timer(label: "late", after: .seconds(2000)) { _ in },
                Timer(label: "early", after: .seconds(1000)) { _ in }
            )
            loop.add(late)
            #expect(loop.nextTimerFireDate(in: .default) == late.nextFireDate)
            loop.add(early)
            #expect(loop.nextTimerFireDate(in: .default) == early.nextFireDate)
            late.nextFireDate = .now
            loop.run(in: .default, for: .zero)
            #expect(loop.nextTimerFireDate(in: .default) == early.nextFireDate)
            early.invalidate()
            #expect(loop.nextTimerFireDate(in: .default) == nil)
        }
    }

    @Test(
        "queue_foreach_delete: an item that invalidates itself and the next keeps that from being called",
        arguments: ["source", "timer", "observer"]
    )
    func foreachDelete(_ kind: String) throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let invalidations = Cell<[@Sendable () -> Void]>([])
            let date = HostRunLoop.Instant.now
            for number in 0..<3 {
                let body: @Sendable () -> Void = {
                    trace.add("\(number)")
                    guard number == 0 else { return }
                    for invalidate in invalidations.value.prefix(2) { invalidate() }
                }
                switch kind {
                case "source":
                    let source = Source(label: "s") { _ in body() }
                    loop.add(source)
                    source.signal()
                    invalidations.value.append { source.invalidate() }
                case "timer":
                    let timer = Timer(label: "t", fireAt: date) { _ in body() }
                    loop.add(timer)
                    invalidations.value.append { timer.invalidate() }
                default:
                    loop.addIdleSource()
                    let observer = Observer(label: "o", activities: .beforeTimers) { _, _ in body() }
                    loop.add(observer)
                    invalidations.value.append { observer.invalidate() }
                }
            }
            loop.run(in: .default, for: .zero)
            invalidations.value = []
            return trace.entries
        }
        #expect(entries == ["0", "2"])
    }

    @Test("idle_starvation, idle_check: a source that is always signalled keeps nothing else from its turn")
    func idleStarvation() throws {
        let (counts, passes) = try onNewThread { loop in
            let trace = Trace()
            let own = Cell<Source?>(nil)
            own.value = Source(label: "busy") { _ in
                trace.add("source")
                own.value?.signal()
            }
            if let source = own.value { loop.add(source) }
            own.value?.signal()
            loop.traceStages(trace)
            loop.add(
                Timer(label: "t", after: .milliseconds(2)) { _ in
                    trace.add("timer")
                    loop.stop()
                }
            )
            let before = loop.passCount
            loop.run(in: .default, for: .seconds(50))
            own.value = nil
            let names = ["source", "timers?", "sources?", "timer", "sleep", "woke", "entry", "exit"]
            return (names.map { trace.count($0) }, Int(loop.passCount - before))
        }
        #expect(counts == [passes, passes, passes, 1, 0, 0, 1, 1])
    }

    @Test("metrics_info_check: passes are counted one by one, and a loop waits in none of its callouts")
    func metrics() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            loop.add(
                Timer(label: "t", after: .zero, repeating: .nanoseconds(1)) { _ in
                    trace.add("\(loop.passCount) \(loop.isWaiting)")
                    if trace.entries.count == 3 { loop.stop() }
                }
            )
            trace.add("\(loop.passCount) \(loop.isWaiting)")
            loop.run(in: .default, for: .seconds(50))
            trace.add("\(loop.passCount) \(loop.isWaiting)")
            return trace.entries
        }
        #expect(entries == ["0 false", "1 false", "2 false", "2 false"])
    }

    @Test("metrics_idle_time: the time asleep is between two observers; a run that only polls has none")
    func idleTime() throws {
        let (idle, least, polling) = try onNewThread { loop in
            loop.addIdleSource()
            let (begin, idle) = (Cell(HostRunLoop.Instant.now), Cell(Duration.zero))
            let (limit, first) = (Duration.milliseconds(20), Cell<HostRunLoop.Instant?>(nil))
            loop.add(
                Observer(label: "o", activities: [.beforeWaiting, .afterWaiting]) { _, activity in
                    if activity == .beforeWaiting {
                        begin.value = .now
                        first.value = first.value ?? begin.value
                    } else {
                        idle.value += begin.value.duration(to: .now)
                    }
                }
            )
            let end = HostRunLoop.Instant.now.advanced(by: limit)
            loop.run(in: .default, for: limit)
            let asleep = idle.value
            let least = first.value.map { $0.duration(to: end) } ?? limit
            idle.value = .zero
            for _ in 0..<100 { loop.run(in: .default, for: .zero) }
            return (asleep, least, idle.value)
        }
        #expect(idle > .zero && idle >= least)
        #expect(polling == .zero)
    }
}
