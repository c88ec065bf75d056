import RunLoops
import Testing

/// What swift-corelibs-foundation's TestTimer asserts.
@Suite("Corelibs: timers", .timeLimit(.minutes(10)))
struct CorelibsTimerTests {
    private typealias Instant = HostRunLoop.Instant
    private typealias Timer = HostRunLoop.Timer

    @Test("A timer keeps its date and its interval; one that fires once has none")
    func initialState() {
        let date = Instant.now.advanced(by: .seconds(300))
        let once = Timer(label: "once", fireAt: date) { _ in }
        #expect(once.interval == .zero)
        #expect(once.nextFireDate == date)
        #expect(once.isValid)
        let repeating = Timer(label: "repeating", fireAt: date, interval: .milliseconds(400)) { _ in }
        #expect(repeating.interval == .milliseconds(400))
        #expect(repeating.nextFireDate == date)
        let negative = Timer(label: "negative", fireAt: date, interval: .seconds(-4)) { _ in }
        #expect(negative.interval == .zero)
    }

    @Test("A timer that fires once does so once, then is invalid")
    func once() throws {
        let trace = Trace()
        try onNewThread { loop in
            let timer = Timer(label: "t", after: .milliseconds(10)) { timer in
                trace.add("valid \(timer.isValid)")
            }
            let date = timer.nextFireDate
            loop.add(timer)
            loop.run(until: date.advanced(by: .milliseconds(20)))
            #expect(Instant.now >= date)
            #expect(!timer.isValid)
        }
        #expect(trace.entries == ["valid true"])
    }

    @Test("A repeating timer fires a period apart, never early, until it is invalidated in its own call")
    func repeats() throws {
        let dates = Cell<[Instant]>([])
        let start = Instant.now
        try onNewThread { loop in
            loop.add(
                Timer(label: "t", fireAt: start.advanced(by: .milliseconds(10)), interval: .milliseconds(10)) { timer in
                    dates.value.append(.now)
                    if dates.value.count == 3 { timer.invalidate() }
                }
            )
            #expect(loop.run(for: .seconds(50)) == .finished)
        }
        #expect(dates.value.count == 3)
        for (index, date) in dates.value.enumerated() {
            #expect(start.duration(to: date) >= .milliseconds(10 * (index + 1)))
        }
    }

    @Test("An invalidated timer does not fire again")
    func invalidation() throws {
        let trace = Trace()
        try onNewThread { loop in
            let timer = Timer(label: "t", after: .zero, repeating: .milliseconds(1)) { timer in
                trace.add("timer")
                #expect(timer.isValid)
                timer.invalidate()
                #expect(!timer.isValid)
            }
            loop.add(timer)
            loop.addIdleSource()
            loop.run(until: .now.advanced(by: .milliseconds(10)))
            #expect(!loop.contains(timer))
        }
        #expect(trace.entries == ["timer"])
    }
}
