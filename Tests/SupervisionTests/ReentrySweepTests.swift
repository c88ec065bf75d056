import RunLoops
import Synchronization
import Testing

@testable import Supervision

/// The way back after a fault.
@Suite(.timeLimit(.minutes(1))) struct ReentrySweepTests {
    private static let start = HostRunLoop.Instant(nanoseconds: 1_000_000_000)

    @Test func `A probation lasts as long as it was meant to`() {
        var progress = SweepProgress(probation: .milliseconds(100), faults: 5, now: Self.start)
        #expect(progress.remaining(faults: 5, now: Self.start) == .milliseconds(100))
        #expect(progress.remaining(faults: 5, now: Self.start.advanced(by: .milliseconds(99))) == .milliseconds(1))
        #expect(progress.remaining(faults: 5, now: Self.start.advanced(by: .milliseconds(100))) == nil)
        #expect(progress.remaining(faults: 5, now: Self.start.advanced(by: .seconds(100))) == nil)
    }

    @Test func `Each new fault begins the probation again`() {
        var progress = SweepProgress(probation: .milliseconds(100), faults: 0, now: Self.start)
        for fault in 1...5 {
            let now = Self.start.advanced(by: .milliseconds(90 * fault))
            #expect(progress.remaining(faults: fault, now: now) == .milliseconds(100))
            #expect(progress.remaining(faults: fault, now: now.advanced(by: .milliseconds(30))) == .milliseconds(70))
        }
        // Even when it was over.
        let late = Self.start.advanced(by: .seconds(10))
        #expect(progress.remaining(faults: 5, now: late) == nil)
        #expect(progress.remaining(faults: 6, now: late) == .milliseconds(100))
    }

    @Test func `A probation of nothing is over at once`() {
        var progress = SweepProgress(probation: .zero, faults: 0, now: Self.start)
        #expect(progress.remaining(faults: 0, now: Self.start) == nil)
    }

    /// What a sweep on a loop of its own thread did.
    private struct Outcome: Sendable {
        var result: ReentrySweep.Result
        var calls: [String]
        var duration: Duration
    }

    private final class Calls: Sendable {
        private let names = Mutex<[String]>([])

        func add(_ name: String) { names.withLock { $0.append(name) } }
        var all: [String] { names.withLock { $0 } }
    }

    private func sweep(
        _ sweep: ReentrySweep,
        prepare: @escaping @Sendable (HostRunLoop, Calls) -> Void,
        faultCount: @escaping @Sendable (Calls) -> Int = { _ in 0 },
        shouldStop: @escaping @Sendable (Calls) -> Bool = { _ in false }
    ) async -> Outcome {
        await withCheckedContinuation { continuation in
            LoopThread.run { loop in
                let calls = Calls()
                prepare(loop, calls)
                let start = HostRunLoop.Instant.now
                let result = sweep.run(on: loop, faultCount: { faultCount(calls) }, shouldStop: { shouldStop(calls) })
                continuation.resume(
                    returning: Outcome(result: result, calls: calls.all, duration: start.duration(to: .now))
                )
            }
        }
    }

    @Test func `All modes run, whichever the loop was in`() async {
        let outcome = await sweep(ReentrySweep(probation: .milliseconds(60), slice: .milliseconds(10))) { loop, calls in
            for mode: HostRunLoop.Mode in ["one", "two", .default] {
                let pause = Duration.milliseconds(5)
                let timer = HostRunLoop.Timer(label: mode.rawValue, after: pause, repeating: pause) { _ in
                    calls.add(mode.rawValue)
                }
                loop.add(timer, to: mode)
            }
        }
        #expect(outcome.result == .clean)
        #expect(outcome.duration >= .milliseconds(60))
        #expect(Set(outcome.calls) == ["one", "two", HostRunLoop.Mode.default.rawValue])
    }

    @Test func `A loop in which nothing is left is clean at once`() async {
        let outcome = await sweep(ReentrySweep(probation: .seconds(1000))) { _, _ in }
        #expect(outcome.result == .clean)
    }

    @Test func `A fault during the sweep makes it last longer`() async {
        let outcome = await sweep(
            ReentrySweep(probation: .milliseconds(300), slice: .milliseconds(10)),
            prepare: { loop, calls in
                let timer = HostRunLoop.Timer(label: "fault", after: .milliseconds(50)) { _ in calls.add("fault") }
                loop.add(timer)
                let other = HostRunLoop.Timer(label: "other", after: .seconds(1000)) { _ in }
                loop.add(other)
            },
            faultCount: { $0.all.count }
        )
        #expect(outcome.result == .clean)
        #expect(outcome.duration >= .milliseconds(350))
    }

    @Test func `The sweep ends when it is told to`() async {
        let outcome = await sweep(
            ReentrySweep(probation: .seconds(1000), slice: .milliseconds(10)),
            prepare: { loop, calls in
                let timer = HostRunLoop.Timer(label: "stop", after: .milliseconds(20)) { _ in calls.add("stop") }
                loop.add(timer)
            },
            shouldStop: { !$0.all.isEmpty }
        )
        #expect(outcome.result == .stopped)
        #expect(outcome.calls == ["stop"])
    }
}
