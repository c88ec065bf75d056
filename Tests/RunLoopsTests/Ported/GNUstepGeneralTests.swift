import RunLoops
import Testing

/// What GNUstep's Tests/base/NSRunLoop/general.m and basic.m assert.
@Suite("GNUstep: runs until a date", .timeLimit(.minutes(10)))
struct GNUstepGeneralTests {
    private typealias Instant = HostRunLoop.Instant
    private typealias Timer = HostRunLoop.Timer

    @Test("There is a loop, it is the same each time, and it has no mode outside of a run")
    func currentMode() throws {
        try onNewThread { loop in
            #expect(HostRunLoop.current === loop)
            #expect(loop.currentMode == nil)
            loop.addIdleSource()
            loop.run(until: .now)
            #expect(loop.currentMode == nil)
        }
    }

    @Test("A run until a date lasts until then, with a timer that fires meanwhile")
    func untilDate() throws {
        let trace = Trace()
        try onNewThread { loop in
            loop.add(
                Timer(label: "t", after: .milliseconds(5), repeating: .milliseconds(5)) { _ in trace.add("timer") }
            )
            let end = Instant.now.advanced(by: .milliseconds(50))
            loop.run(until: end)
            #expect(Instant.now >= end)
        }
        #expect(trace.count("timer") >= 1)
    }

    @Test("A run until the distant past returns, and fires what is due, but not what is not")
    func untilDistantPast() throws {
        let trace = Trace()
        try onNewThread { loop in
            loop.add(Timer(label: "due", after: .zero) { _ in trace.add("due") })
            loop.add(Timer(label: "not due", after: .seconds(200)) { _ in trace.add("not due") })
            loop.run(until: .distantPast)
            loop.run(until: .now)
        }
        #expect(trace.entries == ["due"])
    }

    @Test("A run with a lone one-shot timer ends when that has fired, long before its limit")
    func loneTimer() throws {
        let trace = Trace()
        try onNewThread { loop in
            let start = Instant.now
            loop.add(Timer(label: "t", after: .milliseconds(20)) { _ in trace.add("timer") })
            #expect(loop.run(in: .default, before: start.advanced(by: .seconds(500))))
            #expect(start.duration(to: .now) >= .milliseconds(20))
            #expect(loop.isEmpty(.default))
        }
        #expect(trace.entries == ["timer"])
    }
}
