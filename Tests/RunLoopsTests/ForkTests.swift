import Glibc
import LinuxSystem
import RecoveryTestSupport
import Synchronization
import TestSupport
import Testing

@testable import RunLoops

/// Each test forks in a process of its own: a child of the test runner could find locks of other tests held for ever.
@Suite("A fork without exec", .timeLimit(.minutes(10)))
struct ForkTests {
    @Test("What a child does with its parent's loop does not reach the parent")
    func parentIsUndisturbed() async {
        await #expect(processExitsWith: .success) {
            try synchronously {
                let loop = HostRunLoop.current
                let pipe = TestPipe()
                let trace = Trace()
                let port = pipe.portSource("p") { _ in
                    pipe.takeByte()
                    trace.add("port")
                }
                try loop.add(port)
                let timer = HostRunLoop.Timer(label: "t", after: .seconds(500)) { _ in }
                loop.add(timer)
                loop.run(for: .zero)
                // As while it sleeps in a run, when a wake-up is written to the eventfd.
                loop.waker.state.accept()
                let sleeps = loop.waker.state.prepareToSleep()
                #expect(sleeps)
                let outer = loop.runs.enter(try #require(loop.modes[.default]))

                let child = hf_test_fork()
                if child == 0 {
                    loop.stop()
                    loop.wakeUp()
                    timer.nextFireDate = .now
                    loop.interruptSleep(ifLaterThan: .min)
                    port.interest = []
                    loop.remove(port)
                    port.invalidate()
                    timer.invalidate()
                    _exit(loop.isInheritedByFork ? 0 : 1)
                }
                #expect(hf_test_wait(child) == 0)
                #expect(!loop.isInheritedByFork)
                let wake = try #require(loop.waker.descriptors.present).wake.rawValue
                #expect(Readiness.now(of: wake, for: .readable).isEmpty)

                loop.waker.state.endSleep()
                loop.waker.state.ignore()
                _ = loop.runs.leave(to: outer)
                pipe.fill()
                #expect(loop.run(for: .seconds(20), returnAfterSourceHandled: true) == .handledSource)
                #expect(trace.entries == ["port"])
            }
        }
    }

    @Test("A child has loops of its own, which the parent does not notice")
    func freshLoop() async {
        await #expect(processExitsWith: .success) {
            synchronously {
                let loop = HostRunLoop.current
                let main = HostRunLoop.main
                // What the child needs of the Swift runtime is made now, under a lock that the main thread might hold when it forks.
                loop.add(HostRunLoop.Timer(label: "first", after: .zero) { _ in })
                loop.run(for: .zero)
                let child = hf_test_fork()
                if child == 0 {
                    let own = HostRunLoop.current
                    guard own !== loop, own !== main, own === HostRunLoop.main, own.isMain, own.isCurrent else {
                        _exit(1)
                    }
                    guard own === HostRunLoop.current, !own.isInheritedByFork else { _exit(2) }
                    // As libuv's fork_timer: a timer of the child fires in the child.
                    let trace = Trace()
                    own.add(HostRunLoop.Timer(label: "t", after: .milliseconds(1)) { _ in trace.add("timer") })
                    guard own.run(for: .seconds(20)) == .finished, trace.entries == ["timer"] else { _exit(3) }
                    // And once more: a child of the child.
                    let grandchild = hf_test_fork()
                    if grandchild == 0 { _exit(HostRunLoop.current === own ? 1 : 0) }
                    _exit(hf_test_wait(grandchild) == 0 ? 0 : 4)
                }
                #expect(hf_test_wait(child) == 0)
                #expect(HostRunLoop.current === loop)
                #expect(HostRunLoop.main === main)
                let trace = Trace()
                loop.add(HostRunLoop.Timer(label: "t", after: .milliseconds(1)) { _ in trace.add("timer") }, to: "m")
                #expect(loop.run(in: "m", for: .seconds(20)) == .finished)
                #expect(trace.entries == ["timer"])
            }
        }
    }

    /// What cannot be done with a parent's loop.
    enum Use: String, Codable, CaseIterable, Sendable {
        case run = "run"
        case runUntil = "run it until a date"
        case wait = "wait for"
        case add = "add an item to"
        case perform = "queue a block on"
        case addCommonMode = "declare a common mode of"

        var message: String { "cannot \(self == .runUntil ? "run" : rawValue) a run loop of its parent" }

        func apply(to loop: HostRunLoop) {
            switch self {
            case .run: loop.run(for: .zero)
            case .runUntil: loop.run(until: .now)
            case .wait: _ = loop.waitUntilAnyModeIsReady([.default], for: .zero)
            case .add: loop.add(HostRunLoop.Timer(label: "t", after: .zero) { _ in })
            case .perform: loop.performWithoutWaking {}
            case .addCommonMode: loop.addCommonMode("m")
            }
        }
    }

    @Test("Using a parent's loop in a child ends the child, and says what to do", arguments: Use.allCases)
    func use(_ use: Use) async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [use] in
            synchronously {
                let loop = HostRunLoop.current
                let child = hf_test_fork()
                if child == 0 {
                    use.apply(to: loop)
                    _exit(0)
                }
                #expect(hf_test_wait(child) > 256)
            }
        }
        let errors = try errors(of: result)
        #expect(errors.contains(use.message))
        #expect(errors.contains("exec first, or use HostRunLoop.current"))
    }

    @Test("A child that returns from the callout in which it was forked ends before it waits")
    func forkInCallout() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            synchronously {
                let loop = HostRunLoop.current
                let trace = Trace()
                let pid = Cell<CInt>(-1)
                loop.add(
                    HostRunLoop.Timer(label: "t", after: .zero) { _ in
                        pid.value = hf_test_fork()
                        trace.add("timer")
                        // The child goes on.
                        if pid.value != 0 { loop.stop() }
                    }
                )
                loop.addIdleSource()
                let result = loop.run(for: .seconds(20))
                // Only the parent gets here.
                guard pid.value > 0 else { _exit(9) }
                #expect(hf_test_wait(pid.value) > 256)
                #expect(result == .stopped)
                #expect(trace.entries == ["timer"])
            }
        }
        #expect(try errors(of: result).contains("cannot go on with a run loop of its parent"))
    }

    // MARK: Support

    private func errors(of result: ExitTest.Result?) throws -> String {
        String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    }
}
