import RunLoops
import Testing

/// What swift-corelibs-foundation's TestRunLoop asserts, apart from the main dispatch queue, which has tests of its own.
@Suite("Corelibs: run loops", .timeLimit(.minutes(10)))
struct CorelibsRunLoopTests {
    private typealias Instant = HostRunLoop.Instant
    private typealias Timer = HostRunLoop.Timer

    @Test("The modes have the names of CFRunLoop")
    func constants() {
        #expect(HostRunLoop.Mode.common.rawValue == "common")
        #expect(HostRunLoop.Mode.default.rawValue == "default")
    }

    @Test("The main loop and a thread's loop are the same each time, and not each other")
    func identity() throws {
        #expect(HostRunLoop.main === HostRunLoop.main)
        try onNewThread { loop in
            #expect(HostRunLoop.current === loop)
            #expect(HostRunLoop.current !== HostRunLoop.main)
        }
    }

    @Test("A run in a mode fires the timer there, with that mode as the current one, and says that it ran")
    func runMode() throws {
        let modes = Cell<[HostRunLoop.Mode?]>([])
        try onNewThread { loop in
            loop.addIdleSource()
            loop.add(
                Timer(label: "t", after: .milliseconds(2)) { _ in
                    modes.value.append(loop.currentMode)
                    loop.stop()
                }
            )
            #expect(loop.run(in: .default, before: .now.advanced(by: .seconds(50))))
            #expect(loop.currentMode == nil)
        }
        #expect(modes.value == [.default])
    }

    @Test("The limit date is the date of the timer")
    func limitDate() throws {
        try onNewThread { loop in
            let date = Instant.now.advanced(by: .seconds(200))
            loop.add(Timer(label: "t", fireAt: date) { _ in })
            loop.add(Timer(label: "later", fireAt: date.advanced(by: .seconds(1))) { _ in })
            #expect(loop.limitDate(in: .default) == date)
        }
    }

    @Test("A run until now returns, although something is there to wait for")
    func poll() throws {
        let trace = Trace()
        try onNewThread { loop in
            loop.add(Timer(label: "t", after: .seconds(200)) { _ in trace.add("timer") })
            let pipe = TestPipe()
            try loop.add(pipe.portSource("p") { _ in trace.add("port") })
            loop.run(until: .now)
            #expect(loop.run(in: .default, before: .now))
        }
        #expect(trace.entries == [])
    }

    @Test("A timer in the common modes fires in the default mode")
    func commonModes() throws {
        let trace = Trace()
        try onNewThread { loop in
            loop.add(Timer(label: "t", after: .milliseconds(1)) { _ in trace.add("timer") }, to: .common)
            loop.run(until: .now.advanced(by: .seconds(50)))
        }
        #expect(trace.entries == ["timer"])
    }

    @Test("A source is told once per mode that it enters and leaves, and goes when the loop lets go of it")
    func addingAndRemoving() throws {
        let trace = Trace()
        try onNewThread { loop in
            weak let released: HostRunLoop.Source?
            do {
                let source = HostRunLoop.Source(
                    label: "s",
                    schedule: { _, mode in trace.add("+\(mode)") },
                    cancel: { _, mode in trace.add("-\(mode)") },
                    perform: { _ in }
                )
                released = source
                for _ in 0..<2 {
                    loop.add(source, to: "a")
                    loop.add(source, to: "b")
                }
                for _ in 0..<2 {
                    loop.remove(source, from: "a")
                }
            }
            #expect(released != nil)
            if let source = released {
                loop.remove(source, from: "b")
            }
            #expect(released == nil)
        }
        #expect(trace.entries == ["+a", "+b", "-a", "-b"])
    }
}
