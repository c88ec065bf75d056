import RunLoops
import Synchronization
import TestSupport
import Testing

@Suite("Timers", .timeLimit(.minutes(10)))
struct TimerTests {
    typealias Timer = HostRunLoop.Timer
    typealias Instant = HostRunLoop.Instant

    @Test("Timers fire by date, those that are due together in one pass")
    func order() throws {
        let (entries, passes) = try onNewThread { loop in
            let trace = Trace()
            let delays = [3, 1, 2, 1].map { Duration.milliseconds($0) }
            var (start, timers): (Instant, [Timer]) = (.now, [])
            // Where a date passes meanwhile, a timer has the present instead.
            repeat {
                start = .now
                timers = zip(["a", "b", "c", "d"], delays).map { label, delay in
                    Timer(label: label, fireAt: start.advanced(by: delay)) { trace.add($0.label) }
                }
            } while zip(timers, delays).contains { $0.nextFireDate != start.advanced(by: $1) }
            for timer in timers { loop.add(timer) }
            while Instant.now < start.advanced(by: .milliseconds(4)) {}
            loop.run(in: .default, for: .zero)
            return (trace.entries, loop.passCount)
        }
        #expect(entries == ["b", "d", "c", "a"])
        #expect(passes == 1)
    }

    /// What a timer's callout does with the timer, and where the timer is.
    enum Ending: CaseIterable {
        case none, invalidate, remove, removeAndAdd, moveToOtherLoop, invalidateInOtherLoop, secondMode
        case invalidateInTwoModes
    }

    @Test(
        "A timer is freed once after its last callout, whatever that does with it",
        arguments: Ending.allCases,
        [Duration.zero, .nanoseconds(1)]
    )
    func freed(ending: Ending, interval: Duration) throws {
        let (fired, living) = try onNewThread { loop in
            let other = NewThread { _ in }
            let otherLoop = other.loop
            let fired = Cell(0)
            var timers: [Weak] = []
            // More than are sorted as a batch, and fewer.
            for _ in 0..<50 {
                let timer = Timer(label: "t", fireAt: .now, interval: interval) { timer in
                    fired.value += 1
                    switch ending {
                    case .none: if interval > .zero { timer.invalidate() }
                    case .invalidate: timer.invalidate()
                    case .remove: loop.remove(timer)
                    case .removeAndAdd:
                        loop.remove(timer)
                        loop.add(timer)
                        if interval > .zero { timer.invalidate() }
                    case .moveToOtherLoop:
                        loop.remove(timer)
                        otherLoop.add(timer)
                        if interval > .zero { timer.invalidate() }
                    case .invalidateInOtherLoop:
                        loop.remove(timer)
                        otherLoop.add(timer)
                        timer.invalidate()
                    case .secondMode:
                        loop.add(timer, to: "second")
                        loop.remove(timer)
                        loop.remove(timer, from: "second")
                    case .invalidateInTwoModes:
                        loop.add(timer, to: "second")
                        timer.invalidate()
                    }
                }
                loop.add(timer)
                timers.append(Weak(timer: timer))
            }
            loop.add(HostRunLoop.Source(label: "keeps the mode") { _ in })
            loop.run(in: .default, for: .zero)
            _ = try other.join()
            return (fired.value, timers.count { $0.timer != nil })
        }
        #expect(fired == 50)
        #expect(living == 0)
    }

    private struct Weak {
        weak var timer: Timer?
    }

    @Test("A timer may be taken out of the common items of another loop while it fires")
    func commonElsewhere() throws {
        let rounds = 20_000
        let current = Mutex<(loop: HostRunLoop, timer: Timer)?>(nil)
        let isOver = Flag()
        let other = NewThread { otherLoop in
            while !isOver.isSet {
                guard let (_, timer) = current.withLock({ $0.take() }) else { continue }
                otherLoop.remove(timer, from: .common)
            }
        }
        let otherLoop = other.loop
        let fired = try onNewThread { loop in
            let fired = Cell(0)
            loop.add(HostRunLoop.Source(label: "keeps the mode") { _ in })
            for _ in 0..<rounds {
                let timer = Timer(label: "t", fireAt: .now) { _ in fired.value += 1 }
                otherLoop.add(timer, to: .common)
                otherLoop.remove(timer)
                loop.add(timer)
                current.withLock { $0 = (otherLoop, timer) }
                loop.run(in: .default, for: .zero)
            }
            return fired.value
        }
        isOver.set()
        _ = try other.join()
        #expect(fired == rounds)
    }

    @Test("A timer never fires early, and missed fires are one that keeps the phase")
    func phase() throws {
        let fires = try onNewThread { loop in
            let fires = Cell<[Int64]>([])
            let interval: Int64 = 2_000_000
            let first = Cell<Int64>(0)
            let timer = Timer(label: "t", after: .nanoseconds(interval), repeating: .nanoseconds(interval)) { timer in
                let start = first.value
                fires.value.append(Instant.now.nanoseconds - start)
                if fires.value.count == 1 {
                    // Misses the next three.
                    while Instant.now.nanoseconds < start + 3 * interval + interval / 2 {}
                }
                if fires.value.count == 3 { timer.invalidate() }
            }
            first.value = timer.nextFireDate.nanoseconds
            loop.add(timer)
            loop.run(in: .default, for: .seconds(10))
            return fires.value.map { Double($0) / Double(interval) }
        }
        #expect(fires.count == 3)
        #expect(fires[0] >= 0 && fires[1] >= 4 && fires[2] >= 5)
    }

    @Test("A timer that fires once is valid during its callout, invalid afterwards, and cannot revive itself")
    func once() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let timer = Timer(label: "t", fireAt: .now) { timer in
                trace.add("\(timer.isValid) \(loop.contains(timer))")
                timer.nextFireDate = .now.advanced(by: .milliseconds(1))
            }
            loop.add(timer)
            trace.add("\(loop.run(in: .default, for: .seconds(10)))")
            trace.add("\(timer.isValid) \(loop.contains(timer))")
            loop.add(timer)
            trace.add("\(loop.contains(timer))")
            return trace.entries
        }
        #expect(entries == ["true true", "finished", "false false", "false"])
    }

    @Test("Of the due timers, one that is invalidated, postponed or removed is skipped; one in another mode fires")
    func skipped() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let tracing: @Sendable (Timer) -> Void = { trace.add($0.label) }
            let now = Instant.now
            // Made before the others: a date that has passed is the present instead, and the first date fires first.
            let others = Cell<[Timer]>([])
            loop.add(
                Timer(label: "first", fireAt: now) { _ in
                    let others = others.value
                    others[0].invalidate()
                    others[1].nextFireDate = .now.advanced(by: .seconds(100))
                    loop.remove(others[2])
                    loop.remove(others[3])
                    loop.add(others[4])
                }
            )
            others.value = ["invalidated", "postponed", "removed", "elsewhere", "added"].map { label in
                Timer(label: label, fireAt: now, perform: tracing)
            }
            for timer in others.value.dropLast() { loop.add(timer) }
            loop.add(others.value[3], to: "other")
            while others.value.contains(where: { $0.nextFireDate > .now }) {}
            loop.run(in: .default, for: .zero)
            trace.add("-")
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["elsewhere", "-", "added"])
    }

    @Test("A firing timer is left out of nested runs, in which others fire")
    func nested() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let now = Instant.now
            loop.add(
                Timer(label: "a", fireAt: now, interval: .seconds(100)) { _ in
                    trace.add("a")
                    trace.add("\(loop.nextTimerFireDate(in: .default).map { $0 <= .now } ?? false)")
                    loop.run(in: .default, for: .zero)
                    trace.add("back")
                }
            )
            loop.add(Timer(label: "b", fireAt: now) { _ in trace.add("b") })
            loop.run(in: .default, for: .zero)
            return trace.entries
        }
        #expect(entries == ["a", "true", "b", "back"])
    }

    @Test("A timer in two modes has one date: a fire in one counts for both")
    func twoModes() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let timer = Timer(label: "t", fireAt: .now, interval: .seconds(100)) { _ in trace.add("t") }
            loop.add(timer)
            loop.add(timer, to: "other")
            loop.run(in: .default, for: .zero)
            loop.run(in: "other", for: .zero)
            trace.add("\(loop.nextTimerFireDate(in: "other") == timer.nextFireDate)")
            trace.add("\(timer.nextFireDate > Instant.now.advanced(by: .seconds(50)))")
            return trace.entries
        }
        #expect(entries == ["t", "true", "true"])
    }

    @Test("A date set during the callout counts if it is later than the one that came")
    func rescheduled() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            let timer = Timer(label: "t", fireAt: .now, interval: .seconds(100)) { timer in
                trace.add("t")
                if trace.count("t") < 3 { timer.nextFireDate = Instant(nanoseconds: 0) }
            }
            loop.add(timer)
            for _ in 0..<4 { loop.run(in: .default, for: .zero) }
            return trace.entries
        }
        #expect(entries == ["t", "t", "t"])
    }

    @Test("Dates and intervals beyond the end of the clock neither overflow nor fire")
    func huge() throws {
        let entries = try onNewThread { loop in
            let trace = Trace()
            loop.add(Timer(label: "future", fireAt: .distantFuture) { _ in trace.add("future") })
            loop.add(Timer(label: "huge", after: .seconds(Int64.max)) { _ in trace.add("huge") })
            let repeating = Timer(label: "r", after: .zero, repeating: .seconds(Int64.max)) { _ in trace.add("r") }
            loop.add(repeating)
            loop.run(in: .default, for: .milliseconds(1))
            trace.add("\(repeating.nextFireDate == .distantFuture)")
            return trace.entries
        }
        #expect(entries == ["r", "true"])
    }

    @Test("A timer that is added or brought forward by another thread interrupts the sleep without a wake-up")
    func fromAnotherThread() throws {
        let trace = Trace()
        let slow = Timer(label: "slow", after: .seconds(100)) { _ in trace.add("slow") }
        let thread = NewThread { loop in
            loop.add(slow)
            loop.traceStages(trace)
            trace.add("\(loop.run(in: .default, for: .seconds(50)))")
            return loop.passCount
        }
        let loop = thread.loop
        waitUntilAsleep(loop)
        loop.add(
            Timer(label: "quick", after: .milliseconds(1)) { _ in
                trace.add("quick")
                slow.invalidate()
            }
        )
        #expect(try thread.join() == 1)
        #expect(trace.entries == ["entry", "timers?", "sources?", "sleep", "woke", "quick", "exit", "finished"])
    }

    @Test("A date in the past reads back as the moment in which it was set; that of an invalid timer stays")
    func dates() throws {
        let before = HostRunLoop.Instant.now
        let timer = HostRunLoop.Timer(label: "t", fireAt: before.advanced(by: .seconds(-100))) { _ in }
        #expect(timer.nextFireDate >= before && timer.nextFireDate <= .now)
        let far = before.advanced(by: .seconds(1000))
        timer.nextFireDate = far
        #expect(timer.nextFireDate == far)
        let again = HostRunLoop.Instant.now
        timer.nextFireDate = before.advanced(by: .seconds(-100))
        let last = timer.nextFireDate
        #expect(last >= again && last <= .now)
        timer.invalidate()
        timer.nextFireDate = far
        #expect(timer.nextFireDate == last)
    }

    @Test("What a fired timer kept alive may cancel the next one that is due, when it goes")
    func releasedBetween() throws {
        /// Cancels a timer at its end.
        final class Owner: @unchecked Sendable {
            var owned: Timer?
            deinit { owned?.invalidate() }
        }
        let (entries, others) = try onNewThread { loop in
            let trace = Trace()
            let owned = Timer(label: "owned", fireAt: .now.advanced(by: .milliseconds(1))) { trace.add($0.label) }
            do {
                let owner = Owner()
                owner.owned = owned
                // The loop has the only reference to it.
                loop.add(
                    Timer(label: "first", fireAt: .now) { timer in
                        withExtendedLifetime(owner) { trace.add(timer.label) }
                    }
                )
            }
            loop.add(owned)
            while Instant.now <= owned.nextFireDate {}
            loop.run(in: .default, for: .zero)
            return (trace.entries, loop.contains(owned))
        }
        #expect(entries == ["first"])
        #expect(!others)
    }
}
