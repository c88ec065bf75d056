import RunLoops
import Testing

@Suite("Waiting for all modes at once", .timeLimit(.minutes(10)))
struct AnyModeTests {
    @Test("Nothing to do: the wait lasts as long as it may, without spinning over empty modes")
    func timeout() throws {
        let (ready, waited) = try onNewThread { loop in
            loop.addIdleSource(to: "a")
            loop.perform(in: .common) {}
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

            loop.perform(in: "block") {}
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
}
