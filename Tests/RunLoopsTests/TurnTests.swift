import RunLoops
import Testing

/// Whatever is ready is served in its turn, in runs of one pass and in nested runs, too.
@Suite("Taking turns", .timeLimit(.minutes(10)))
struct TurnTests {
    /// Counts what a timer that is always due and a port that is always ready got.
    private struct Calls: Sendable {
        let timer = Cell(0)
        let port = Cell(0)

        /// Puts both into a mode.
        func add(to mode: HostRunLoop.Mode, of loop: HostRunLoop, every interval: Duration = .nanoseconds(1)) throws {
            let due = HostRunLoop.Timer(label: "due", after: .zero, repeating: interval) { _ in timer.value += 1 }
            loop.add(due, to: mode)
            let pipe = TestPipe()
            pipe.fill()
            // It is never read: always ready.
            try loop.add(pipe.portSource("busy") { _ in port.value += 1 }, to: mode)
        }

        /// How many calls both got.
        var counts: [Int] { [timer.value, port.value] }
    }

    @Test("A thousand runs of one pass in a block serve a timer and a port in equal parts")
    func insideBlock() throws {
        let counts = try onNewThread { loop in
            let calls = Calls()
            try calls.add(to: "modal", of: loop)
            loop.performWithoutWaking { for _ in 0..<1000 { loop.run(in: "modal", for: .zero) } }
            loop.run(in: .default, for: .zero)
            return calls.counts
        }
        #expect(counts == [500, 500])
    }

    @Test("So do a thousand runs in a timer's callout, and in a port's")
    func insideTimerAndPort() throws {
        let counts = try onNewThread { loop in
            let calls = Calls()
            try calls.add(to: "modal", of: loop)
            let outer = HostRunLoop.Timer(label: "outer", after: .zero) { _ in
                for _ in 0..<1000 { loop.run(in: "modal", for: .zero) }
            }
            loop.add(outer)
            loop.run(in: .default, for: .zero)
            let afterTimer = calls.counts
            let pipe = TestPipe()
            pipe.fill()
            try loop.add(
                pipe.portSource("outer") { _ in
                    pipe.takeByte()
                    for _ in 0..<1000 { loop.run(in: "modal", for: .zero) }
                }
            )
            loop.run(in: .default, for: .zero)
            return afterTimer + calls.counts
        }
        #expect(counts == [500, 500, 1000, 1000])
    }

    @Test("Runs that each end with one source serve the timers of their own mode, nested in a timer's callout of it")
    func sameMode() throws {
        let counts = try onNewThread { loop in
            let calls = Calls()
            try calls.add(to: .default, of: loop)
            let outer = HostRunLoop.Timer(label: "outer", after: .zero) { _ in
                for _ in 0..<1000 {
                    loop.run(in: .default, for: .zero, returnAfterSourceHandled: true)
                }
            }
            loop.add(outer)
            while outer.isValid { loop.run(in: .default, for: .zero) }
            return calls.counts
        }
        // A pass serves one of them.
        #expect(counts[0] >= 490 && counts[1] >= 490, "\(counts)")
    }

    @Test("Runs in another mode, nested in a callout, take no turns from the run around them")
    func otherMode() throws {
        let counts = try onNewThread { loop in
            let (inner, outer) = (Calls(), Calls())
            try inner.add(to: "inner", of: loop)
            try outer.add(to: .default, of: loop)
            let nesting = HostRunLoop.Observer(label: "nesting", activities: .beforeTimers) { _, _ in
                loop.run(in: "inner", for: .zero)
            }
            loop.add(nesting)
            for _ in 0..<1000 { loop.run(in: .default, for: .zero) }
            return inner.counts + outer.counts
        }
        #expect(counts == [500, 500, 500, 500])
    }
}
