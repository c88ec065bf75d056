import CrashCapture
import Glibc
import RunLoops
import Synchronization
import TestSupport
import Testing

@testable import Holdfast

/// The way back after a fault.
@Suite(.timeLimit(.minutes(10))) struct ReentrySweepTests {
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
            TestLoopThread.run { loop in
                let calls = Calls()
                let start = HostRunLoop.Instant.now
                prepare(loop, calls)
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
                let timer = HostRunLoop.Timer(label: mode.rawValue, after: .zero, repeating: pause) { _ in
                    calls.add(mode.rawValue)
                }
                loop.add(timer, to: mode)
            }
        }
        #expect(outcome.result == .clean)
        #expect(outcome.duration >= .milliseconds(60))
        #expect(Set(outcome.calls) == ["one", "two", HostRunLoop.Mode.default.rawValue])
    }

    @Test func `Only the modes that were run or made common, if asked for`() async {
        let sweepOfUsed = ReentrySweep(probation: .milliseconds(60), slice: .milliseconds(10), scope: .usedModes)
        let outcome = await sweep(sweepOfUsed) { loop, calls in
            let modes: [HostRunLoop.Mode] = ["modal", "dialogue", "shared", .default]
            for mode in modes {
                loop.add(HostRunLoop.Source(label: "idle") { _ in }, to: mode)
            }
            loop.addCommonMode("shared")
            #expect(loop.usedModes == ["shared", .default])
            // The program has run it once.
            loop.run(in: "dialogue", for: .zero)
            #expect(loop.usedModes == ["dialogue", "shared", .default])
            for mode in modes {
                loop.add(HostRunLoop.Timer(label: "t", after: .zero) { _ in calls.add(mode.rawValue) }, to: mode)
            }
        }
        #expect(outcome.result == .clean)
        #expect(outcome.calls.sorted() == ["shared", "dialogue", HostRunLoop.Mode.default.rawValue].sorted())
    }

    @Test func `A loop in which nothing is left is clean at once`() async {
        let outcome = await sweep(ReentrySweep(probation: .seconds(1000))) { _, _ in }
        #expect(outcome.result == .clean)
    }

    @Test func `A fault during the sweep makes it last longer`() async {
        let outcome = await sweep(
            ReentrySweep(probation: .milliseconds(300), slice: .milliseconds(10)),
            prepare: { loop, calls in
                let timer = HostRunLoop.Timer(label: "fault", after: .zero) { _ in
                    usleep(50_000)
                    calls.add("fault")
                }
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

    /// A host in small: a loop with items that fault on purpose, a supervisor, and a sweep that each message asks for.
    ///
    /// Belongs to the thread of its loop.
    private final class Host: @unchecked Sendable {
        let loop: HostRunLoop
        let supervisor: Supervisor
        var timers: [UInt64: HostRunLoop.Timer] = [:]
        var trace: [String] = []
        var faults: UInt32 = 0

        init(on loop: HostRunLoop) throws {
            self.loop = loop
            supervisor = try Supervisor(
                rule: VerdictRule(policy: .default, pid: getpid()),
                budget: FaultBudget(perProcess: 1000, perWindow: 100, perItem: 3),
                quarantine: .default
            )
            try supervisor.attach(to: loop) { [unowned self] message in receive(message) }
        }

        /// Adds a timer that faults each time, in the default mode or another.
        func addFaulting(_ label: String, to mode: HostRunLoop.Mode = .default) {
            let pause = Duration.milliseconds(5)
            let timer = HostRunLoop.Timer(label: label, after: pause, repeating: pause) { [unowned self] timer in
                faults += 1
                trace.append("\(label) faults")
                let fault = FaultSummary(number: faults, signal: SIGILL, code: 2, item: timer.identifier)
                let decision = supervisor.decide(fault)
                guard decision.verdict == .resume else { return trace.append("not resumed") }
                // As the handler does: on a slow machine, the timer is due again before the message is received.
                if decision.quarantines { timer.invalidate() }
                supervisor.post(resumed: fault)
            }
            timers[timer.identifier] = timer
            loop.add(timer, to: mode)
        }

        private func receive(_ message: CrashMessage) {
            if case .quarantined = message.event {
                trace.append("out")
                timers[message.item]?.invalidate()
            }
            let before = trace.count
            // A host that does not know better sweeps at once.
            let result = ReentrySweep(probation: .seconds(1000)).run(
                on: loop,
                faultCount: { supervisor.resumedFaults },
                shouldStop: { false }
            )
            trace.append("sweep \(result)")
            if trace.count != before + 1 { trace.append("a callout ran inside") }
        }

        func sweep(_ probation: Duration) -> ReentrySweep.Result {
            ReentrySweep(probation: probation, slice: .milliseconds(10)).run(
                on: loop,
                faultCount: { supervisor.resumedFaults },
                shouldStop: { false }
            )
        }
    }

    /// What a host said after it was swept.
    private func host(
        probation: Duration,
        _ prepare: @escaping @Sendable (Host) -> Void
    ) async -> (result: ReentrySweep.Result?, trace: [String], duration: Duration) {
        await withCheckedContinuation { continuation in
            TestLoopThread.run { loop in
                guard let host = try? Host(on: loop) else {
                    continuation.resume(returning: (nil, [], .zero))
                    return
                }
                let start = HostRunLoop.Instant.now
                prepare(host)
                let result = host.sweep(probation)
                continuation.resume(returning: (result, host.trace, start.duration(to: .now)))
            }
        }
    }

    @Test func `A sweep inside a sweep does not begin, and the one around it goes on`() async {
        let outcome = await host(probation: .seconds(2)) { host in
            host.addFaulting("timer")
        }
        #expect(outcome.result == .clean)
        let fault = ["timer faults", "sweep nested"]
        #expect(outcome.trace == fault + fault + ["timer faults", "out", "sweep nested"])
    }

    @Test func `A quarantine during the sweep lets it end, and the probation follows the last fault`() async {
        let outcome = await host(probation: .seconds(2)) { host in
            host.addFaulting("one")
            host.addFaulting("two", to: "other mode")
        }
        #expect(outcome.result == .clean)
        #expect(outcome.trace.filter { $0 == "one faults" }.count == 3)
        #expect(outcome.trace.filter { $0 == "two faults" }.count == 3)
        #expect(outcome.trace.filter { $0 == "out" }.count == 2)
        #expect(outcome.trace.last == "sweep nested", "and nothing after the last quarantine")
        // Three faults of 5 ms each come first.
        #expect(outcome.duration >= .milliseconds(2015))
    }

    @Test func `A sweep inside an ordinary run does not begin`() async {
        let result: ReentrySweep.Result? = await withCheckedContinuation { continuation in
            TestLoopThread.run { loop in
                let found = Mutex<ReentrySweep.Result?>(nil)
                let timer = HostRunLoop.Timer(label: "sweeper", after: .zero) { _ in
                    let result = ReentrySweep().run(on: loop, faultCount: { 0 }, shouldStop: { false })
                    found.withLock { $0 = result }
                    loop.stop()
                }
                loop.add(timer)
                loop.run(in: .default, for: .seconds(20))
                continuation.resume(returning: found.withLock { $0 })
            }
        }
        #expect(result == .nested)
    }
}
