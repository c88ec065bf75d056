import Glibc
import RunLoops
import Testing

/// What libuv asserts of its timers (test/test-timer*.c), of this loop.
///
/// Elsewhere: `timer_order` with dates that differ, `timer_huge_timeout` and `timer_huge_repeat` in `TimerTests`; `ref*` and
/// `timer_no_run_on_unref`, which have observers for counterparts, in `ModeTests`.
@Suite("libuv's tests: timers", .timeLimit(.minutes(10)))
struct LibuvTimerTests {
    typealias Timer = HostRunLoop.Timer
    typealias Instant = HostRunLoop.Instant

    @Test("timer: ten timers that fire once, one that fires five times, one that is stopped before it is due")
    func timer() throws {
        let (entries, elapsed) = try onNewThread { loop in
            let trace = Trace()
            let begin = Instant.now
            for number in 0..<10 {
                let date = begin.advanced(by: .milliseconds(number * 5))
                loop.add(
                    Timer(label: "once", fireAt: date) { _ in
                        trace.add(Instant.now < date ? "early" : "once \(number)")
                    }
                )
            }
            loop.add(
                Timer(label: "repeat", after: .milliseconds(10), repeating: .milliseconds(10)) { timer in
                    trace.add("repeat")
                    if trace.count("repeat") == 5 { timer.invalidate() }
                }
            )
            let never = Timer(label: "never", after: .milliseconds(1)) { _ in trace.add("never") }
            loop.add(never)
            loop.remove(never)
            trace.add("\(loop.run(in: .default, for: .seconds(50)))")
            return (trace.entries, begin.duration(to: .now))
        }
        #expect(entries.filter { $0.hasPrefix("once") } == (0..<10).map { "once \($0)" })
        #expect(entries.count { $0 == "repeat" } == 5)
        #expect(entries.count == 16 && entries.last == "finished")
        #expect(elapsed >= .milliseconds(45))
    }

    @Test("timer_order: of equal dates, the timer that was added first fires first", arguments: [false, true])
    func order(_ isReversed: Bool) throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            var timers: [Timer] = []
            // Where the date passes meanwhile, each has the present instead.
            repeat {
                let date = Instant.now.advanced(by: .milliseconds(2))
                timers = ["a", "b"].map { name in Timer(label: name, fireAt: date) { _ in trace.add(name) } }
            } while timers[0].nextFireDate != timers[1].nextFireDate
            for timer in isReversed ? timers.reversed() : timers { loop.add(timer) }
            loop.run(in: .default, for: .seconds(50))
            return trace.entries
        }
        #expect(entries == (isReversed ? ["b", "a"] : ["a", "b"]))
    }

    @Test("timer_zero_timeout: a timer that is due again at once fires once in a pass, and not after it was stopped")
    func zeroTimeout() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.add(
                Timer(label: "t", after: .zero, repeating: .seconds(1000)) { timer in
                    trace.add("fire")
                    timer.nextFireDate = .now.advanced(by: .nanoseconds(1))
                    if trace.count("fire") == 3 { timer.invalidate() }
                }
            )
            while loop.run(in: .default, for: .zero) == .timedOut { trace.add("pass") }
            return trace.entries
        }
        // The last pass finds nothing left, but its time was over before that.
        #expect(entries == ["fire", "pass", "fire", "pass", "fire", "pass"])
    }

    @Test("timer_start_twice: of two dates that are set one after the other, the last one counts, once")
    func startTwice() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let timer = Timer(label: "t", after: .seconds(1000)) { _ in trace.add("fire") }
            loop.add(timer)
            timer.nextFireDate = .now.advanced(by: .seconds(500))
            timer.nextFireDate = .now
            trace.add("\(loop.run(in: .default, for: .seconds(50)))")
            return trace.entries
        }
        #expect(entries == ["fire", "finished"])
    }

    @Test("timer_again: a repeating timer that is put off from outside fires later, and keeps its interval from there")
    func again() throws {
        let isEarly = try onNewThread { loop in
            let early = Cell(false)
            let timer = Timer(label: "t", after: .milliseconds(2), repeating: .milliseconds(4)) { timer in
                early.value = early.value || Instant.now < timer.nextFireDate
                if loop.passCount > 2 { timer.invalidate() }
            }
            loop.add(timer)
            // Far off, so that a run which is slow to end does not come to it.
            let date = Instant.now.advanced(by: .seconds(1000))
            timer.nextFireDate = date
            #expect(timer.interval == .milliseconds(4))
            #expect(loop.run(in: .default, for: .milliseconds(5)) == .timedOut)
            #expect(timer.nextFireDate == date)
            timer.nextFireDate = Instant.now.advanced(by: .milliseconds(5))
            loop.run(in: .default, for: .seconds(50))
            return early.value
        }
        #expect(!isEarly)
    }

    @Test("timer_run_once, run_nowait, run_once: a run without time fires what is due, and nothing else")
    func runOnce() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            for (name, delay) in [("due", Duration.zero), ("late", .seconds(1000))] {
                loop.add(Timer(label: name, after: delay) { _ in trace.add(name) })
            }
            for _ in 0..<3 { trace.add("\(loop.run(in: .default, for: .zero))") }
            return trace.entries
        }
        #expect(entries == ["due", "timedOut", "timedOut", "timedOut"])
    }

    @Test("timer_early_check: neither a timer nor the limit of a run comes before its time")
    func earlyCheck() throws {
        let isEarly = try onNewThread { loop in
            let early = Cell(false)
            for microseconds in stride(from: 100, through: 3000, by: 100) {
                let date = Instant.now.advanced(by: .microseconds(microseconds))
                loop.add(Timer(label: "t", fireAt: date) { _ in early.value = early.value || Instant.now < date })
            }
            loop.run(in: .default, for: .seconds(50))
            loop.addIdleSource()
            let begin = Instant.now
            loop.run(in: .default, for: .microseconds(1700))
            return early.value || begin.duration(to: .now) < .microseconds(1700)
        }
        #expect(!isEarly)
    }

    @Test("timer_no_double_call: of several missed fires one comes", arguments: [Duration.zero, .microseconds(1)])
    func noDoubleCall(_ limit: Duration) throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let interval = Duration.milliseconds(20)
            let timer = Timer(label: "t", after: .zero, repeating: interval) { _ in trace.add("fire") }
            let first = timer.nextFireDate
            loop.add(timer)
            while first.duration(to: .now) < .milliseconds(45) { sched_yield() }
            loop.run(in: .default, for: limit)
            let next = timer.nextFireDate
            let phase = first.duration(to: next).components.attoseconds % interval.components.attoseconds
            loop.run(in: .default, for: limit)
            // On a machine that stood still meanwhile, the next fire has come, rightly.
            if Instant.now >= next { trace.add("-") }
            trace.add("\(next > first.advanced(by: .milliseconds(45))) \(phase)")
            return trace.entries
        }
        #expect(entries == ["fire", "true 0"] || entries.contains("-"))
    }

    @Test("timer_from_check: a timer that is added after the sleep fires after the next one")
    func fromCheck() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.addIdleSource()
            loop.traceStages(trace)
            loop.add(
                HostRunLoop.Observer(label: "o", activities: .beforeWaiting, repeats: false) { _, _ in loop.wakeUp() }
            )
            loop.add(
                HostRunLoop.Observer(label: "o", activities: .afterWaiting, repeats: false) { _, _ in
                    loop.add(
                        Timer(label: "t", after: .zero) { _ in
                            trace.add("fire")
                            loop.stop()
                        }
                    )
                }
            )
            loop.run(in: .default, for: .seconds(50))
            return trace.entries
        }
        let stages = ["timers?", "sources?", "sleep", "woke"]
        #expect(entries == ["entry"] + stages + stages + ["fire", "exit"])
    }

    @Test("timer_is_closing: a timer that was invalidated can be neither added nor moved nor fired")
    func isClosing() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let timer = Timer(label: "t", after: .seconds(1000)) { _ in trace.add("fire") }
            timer.invalidate()
            loop.add(timer)
            timer.nextFireDate = .now
            timer.invalidate()
            trace.add("\(timer.isValid) \(loop.contains(timer)) \(loop.run(in: .default, for: .seconds(50)))")
            return trace.entries
        }
        #expect(entries == ["false false finished"])
    }
}
