import RunLoops
import Testing

/// What GNUstep's Tests/base/NSRunLoop/thread.m asserts of a loop with nothing, a timer, and an input.
///
/// Two of its twelve assertions are about accepting input, which has no form of its own here: a run for a limit stands in.
/// The last one, a selector performed on another thread, is a block that is queued from there.
@Suite("GNUstep: a loop of a thread", .timeLimit(.minutes(10)))
struct GNUstepThreadTests {
    private typealias Instant = HostRunLoop.Instant

    @Test("Nothing in it: no limit, no run, no blocking")
    func empty() throws {
        try onNewThread { loop in
            #expect(loop.limitDate(in: .default) == nil)
            // Would hang if it blocked.
            #expect(!loop.run(in: .default, before: .distantFuture))
            #expect(loop.run(in: .default, for: .seconds(1_000_000)) == .finished)
        }
    }

    @Test("A timer: its date is the limit, and the run blocks")
    func timer() throws {
        try onNewThread { loop in
            let timer = HostRunLoop.Timer(label: "t", after: .seconds(200)) { _ in }
            loop.add(timer)
            #expect(loop.limitDate(in: .default) == timer.nextFireDate)
            let end = Instant.now.advanced(by: .milliseconds(20))
            #expect(loop.run(in: .default, before: end))
            #expect(Instant.now >= end)
            let start = Instant.now
            #expect(loop.run(in: .default, for: .milliseconds(20)) == .timedOut)
            #expect(start.duration(to: .now) >= .milliseconds(20))
        }
    }

    @Test("An input: the limit is the distant future, and the run blocks")
    func input() throws {
        try onNewThread { loop in
            let pipe = TestPipe()
            try loop.add(pipe.portSource("p") { _ in })
            #expect(loop.limitDate(in: .default) == .distantFuture)
            let end = Instant.now.advanced(by: .milliseconds(20))
            #expect(loop.run(in: .default, before: end))
            #expect(Instant.now >= end)
        }
    }

    @Test("Work from another thread reaches a loop that has a timer and no inputs, two thousand times in a row")
    func workFromElsewhere() throws {
        let calls = 2000
        let count = Cell(0)
        let thread = NewThread { loop in
            loop.add(HostRunLoop.Timer(label: "t", after: .seconds(200)) { _ in })
            return loop.run(for: .seconds(50))
        }
        waitUntilAsleep(thread.loop)
        for number in 1...calls {
            thread.loop.performWithoutWaking {
                count.value += 1
                if number == calls { thread.loop.stop() }
            }
            thread.loop.wakeUp()
        }
        #expect(try thread.join() == .stopped)
        #expect(count.value == calls)
    }
}
