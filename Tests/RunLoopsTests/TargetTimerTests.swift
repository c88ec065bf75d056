import RunLoops
import Synchronization
import Testing

@Suite("Timers that do not keep their target", .timeLimit(.minutes(10)))
struct TargetTimerTests {
    /// Counts calls, and says when it goes.
    private final class Target: Sendable {
        private let calls = Atomic<Int>(0)
        private let onEnd: @Sendable () -> Void

        init(onEnd: @escaping @Sendable () -> Void) {
            self.onEnd = onEnd
        }

        deinit { onEnd() }

        func call() -> Int { calls.wrappingAdd(1, ordering: .relaxed).newValue }
    }

    @Test("The target goes while its timer is scheduled, and the timer ends itself at its next date")
    func targetGoes() throws {
        let trace = Trace()
        try onNewThread { loop in
            let target = Cell<Target?>(Target { trace.add("gone") })
            let timer = HostRunLoop.Timer(
                label: "t",
                after: .zero,
                repeating: .milliseconds(1),
                target: try #require(target.value)
            ) { target, timer in
                trace.add("\(target.call()) \(timer.label)")
            }
            loop.add(timer)
            loop.run(for: .zero)
            #expect(trace.take() == ["1 t"])
            target.value = nil
            #expect(trace.take() == ["gone"])
            #expect(timer.isValid)
            // Its end leaves the mode empty.
            #expect(loop.run(for: .seconds(50)) == .finished)
            #expect(!timer.isValid)
            #expect(!loop.contains(timer))
        }
        #expect(trace.entries == [])
    }

    @Test("The target stays alive during the call, even if that drops the last reference")
    func targetGoesInCall() throws {
        let trace = Trace()
        try onNewThread { loop in
            let cell = Cell<Target?>(Target { trace.add("gone") })
            let timer = HostRunLoop.Timer(label: "t", fireAt: .now, target: try #require(cell.value)) { target, _ in
                cell.value = nil
                trace.add("\(target.call())")
            }
            loop.add(timer)
            #expect(loop.run(for: .seconds(50)) == .finished)
        }
        #expect(trace.entries == ["1", "gone"])
    }
}
