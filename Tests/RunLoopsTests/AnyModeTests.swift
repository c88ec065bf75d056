import Glibc
import RunLoops
import Testing

@Suite("Waiting for all modes at once", .timeLimit(.minutes(10)))
struct AnyModeTests {
    @Test("Nothing to do: the wait lasts as long as it may, without spinning over empty modes")
    func timeout() throws {
        let (ready, waited) = try onNewThread { loop in
            loop.addIdleSource(to: "a")
            loop.performWithoutWaking(in: .common) {}
            loop.run(in: .default, for: .zero)
            let start = HostRunLoop.Instant.now
            let ready = loop.waitUntilAnyModeIsReady(["a", .default, .common, "missing", "a"], for: .milliseconds(10))
            return (ready, start.duration(to: .now))
        }
        #expect(!ready)
        #expect(waited >= .milliseconds(10))
    }

    @Test("A ready port, a due timer, a signalled source and a queued block are each something to do")
    func kinds() throws {
        let states = try onNewThread { loop in
            var states: [Bool] = []
            let long = Duration.seconds(50)
            let pipe = TestPipe()
            try loop.add(
                pipe.portSource("p") { _ in pipe.takeByte() },
                to: "port"
            )
            states.append(loop.waitUntilAnyModeIsReady(["port"], for: .zero))
            pipe.fill()
            states.append(loop.waitUntilAnyModeIsReady(["port", .default], for: long))
            states.append(loop.waitUntilAnyModeIsReady(["port"], for: long))
            states.append(loop.run(in: "port", for: .zero, returnAfterSourceHandled: true) == .handledSource)
            states.append(loop.waitUntilAnyModeIsReady(["port"], for: .zero))

            loop.add(HostRunLoop.Timer(label: "t", after: .milliseconds(2)) { _ in }, to: "timer")
            states.append(loop.waitUntilAnyModeIsReady(["port", "timer"], for: long))
            states.append(loop.waitUntilAnyModeIsReady(["port"], for: .zero))

            let source = loop.addIdleSource(to: "source")
            states.append(loop.waitUntilAnyModeIsReady(["source"], for: .zero))
            source.signal()
            states.append(loop.waitUntilAnyModeIsReady(["source"], for: long))

            loop.performWithoutWaking(in: "block") {}
            states.append(loop.waitUntilAnyModeIsReady(["block"], for: long))
            return states
        }
        #expect(states == [false, true, true, true, false, true, false, false, true, true])
    }

    @Test("Another thread wakes it: by a wake-up, an earlier timer, or a port")
    func crossThread() throws {
        let trace = Trace()
        let pipe = TestPipe()
        let thread = NewThread { loop in
            loop.addIdleSource(to: "a")
            for _ in 0..<3 {
                trace.add("\(loop.waitUntilAnyModeIsReady(["a", .default], for: .seconds(50)))")
                loop.run(in: .default, for: .zero)
            }
        }
        let loop = thread.loop
        waitUntilAsleep(loop)
        loop.wakeUp()
        while trace.entries.count < 1 {}
        waitUntilAsleep(loop)
        loop.add(HostRunLoop.Timer(label: "t", after: .milliseconds(1)) { _ in })
        while trace.entries.count < 2 {}
        waitUntilAsleep(loop)
        try loop.add(pipe.portSource("p") { _ in })
        pipe.fill()
        try thread.join()
        #expect(trace.entries == ["true", "true", "true"])
    }

    /// Has a thread wait for modes, and calls `body` when it sleeps, if there is one.
    ///
    /// Returns what the wait said, or nil if it did not end.
    private func wait(
        for modes: [HostRunLoop.Mode],
        _ limit: Duration,
        _ body: ((HostRunLoop) throws -> Void)? = nil
    ) throws -> Bool? {
        let said = Cell<Bool?>(nil)
        let thread = NewThread { said.value = $0.waitUntilAnyModeIsReady(modes, for: limit) }
        if let body {
            waitUntilAsleep(thread.loop)
            try body(thread.loop)
        }
        let end = HostRunLoop.Instant.now.advanced(by: .seconds(30))
        while said.value == nil, .now < end { sched_yield() }
        // One that never ends is left behind.
        if said.value != nil { try thread.join() }
        return said.value
    }

    @Test("With no mode that exists the wait ends at its limit, and at a wake-up")
    func noMode() throws {
        #expect(try wait(for: ["none"], .milliseconds(50)) == false)
        #expect(try wait(for: [], .milliseconds(1)) == false)
        #expect(try wait(for: ["none"], .seconds(5000)) { $0.wakeUp() } == true)
    }

    @Test("A mode that begins to exist during the wait is waited for")
    func newMode() throws {
        let pipe = TestPipe()
        pipe.fill()
        #expect(try wait(for: ["new"], .seconds(5000)) { try $0.add(pipe.portSource("p") { _ in }, to: "new") } == true)
        let timer = HostRunLoop.Timer(label: "t", after: .milliseconds(1)) { _ in }
        #expect(try wait(for: ["new"], .seconds(5000)) { $0.add(timer, to: "new") } == true)
    }

    @Test("After a wake-up the next wait sleeps again")
    func sleepsAgain() throws {
        let looks = try onNewThread { loop in
            loop.addIdleSource(to: "a")
            let other = NewThread { _ in
                waitUntilAsleep(loop)
                loop.wakeUp()
            }
            let woken = loop.waitUntilAnyModeIsReady(["a", "none"], for: .seconds(50))
            try other.join()
            return [woken, loop.waitUntilAnyModeIsReady(["a", "none"], for: .milliseconds(5))]
        }
        #expect(looks == [true, false])
    }
}
