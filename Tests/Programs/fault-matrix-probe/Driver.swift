import Dispatch
import FaultInjection
import Glibc
import Holdfast
import Synchronization

/// Brings the fault about from a thread of its own, and then goes through the repertoire of the loops.
///
/// Protected by: `trigger` is set before the thread starts.
final class Driver: @unchecked Sendable {
    /// How long a check waits: more than anything that works takes, also a second of processor time on a busy machine.
    static let patience: Duration = .seconds(25)

    /// Signalled for every fault that the host tells of.
    let notices = DispatchSemaphore(value: 0)
    var trigger: Trigger?
    /// Whether the host tells somebody else than the callout itself of its faults.
    var tellsOfFaults = true
    private let cause: Cause
    private let loop: HostRunLoop
    private let main: HostRunLoop
    /// Whether the process restarts as soon as it is quiet: then nothing is checked and nothing ends it.
    let handsOver: Bool
    private let isArmed = Atomic<Bool>(false)
    private let reached = DispatchSemaphore(value: 0)
    private let calledAgain = DispatchSemaphore(value: 0)
    private let failures = Atomic<Int>(0)

    init(_ cause: Cause, on loop: HostRunLoop, main: HostRunLoop, handsOver: Bool) {
        self.cause = cause
        self.loop = loop
        self.main = main
        self.handsOver = handsOver
    }

    /// The body of the callout: commits the fault if it is armed.
    func callout() {
        guard isArmed.exchange(false, ordering: .acquiringAndReleasing) else {
            calledAgain.signal()
            return
        }
        say("reached")
        reached.signal()
        cause.commit()
        say("returned")
    }

    /// Commits the fault, checks everything, commits it again.
    func drive() {
        let loops =
            loop === main
            ? [Repertoire(of: main, named: "main", isMain: true, self)]
            : [
                Repertoire(of: loop, named: "second", isMain: false, self),
                Repertoire(of: main, named: "main", isMain: true, self),
            ]
        for repertoire in loops { repertoire.rememberThreadState() }
        commitOnce()
        guard !handsOver else { return }
        if tellsOfFaults { check("first fault is told of") { isTold() } }
        check("item is called again") { isCalledAgain() }
        check("fault is reached") { true }
        for repertoire in loops { repertoire.checkAll() }
        if case .hazard(.watchedFrame) = cause { check("frame is as it was") { frameIsWhole() } }
        commitOnce()
        if tellsOfFaults { check("second fault is told of") { isTold() } }
        check("item is called once more") { isCalledAgain() }
        for repertoire in loops { repertoire.checkAnswer() }
        say("driven")
    }

    private func commitOnce() {
        // What was called by itself meanwhile.
        while calledAgain.wait(timeout: .now()) == .success {}
        isArmed.store(true, ordering: .releasing)
        trigger?.fire()
        // Nothing is said of a success: words take memory, and the fault may have broken the heap for whoever takes some next.
        if !answers(reached) { check("fault is reached") { false } }
    }

    private func isTold() -> Bool { Self.wait(notices) }

    /// Waits for a signal as long as anything that works takes.
    static func wait(_ semaphore: DispatchSemaphore) -> Bool {
        semaphore.wait(timeout: .now() + .seconds(Int(patience.components.seconds))) == .success
    }

    private func isCalledAgain() -> Bool {
        while calledAgain.wait(timeout: .now()) == .success {}
        trigger?.fire()
        return answers(calledAgain)
    }

    /// Waits for the callout; one around a sleep may have to be asked for again, since the host's sweep after a fault does not sleep.
    private func answers(_ semaphore: DispatchSemaphore) -> Bool {
        guard let trigger, trigger.needsSleep else { return Self.wait(semaphore) }
        let end = HostRunLoop.Instant.now.advanced(by: Self.patience)
        while semaphore.wait(timeout: .now() + .milliseconds(20)) != .success {
            guard .now < end else { return false }
            trigger.fire()
        }
        return true
    }

    private func frameIsWhole() -> Bool {
        let (rounds, damage) = Hazard.watched
        // It still reads, and reads what was there when the frame was abandoned.
        let end = HostRunLoop.Instant.now.advanced(by: Self.patience)
        while Hazard.watched.rounds < rounds + 10, .now < end { usleep(200) }
        return Hazard.watched.rounds >= rounds + 10 && damage == 0 && Hazard.watched.damage == 0
    }

    /// Says whether something still works.
    func check(_ name: String, _ works: () -> Bool) {
        let isOK = works()
        say("check \(name): \(isOK ? "ok" : "FAILED")")
        // Each failure takes its time, and two say enough.
        if !isOK, failures.add(1, ordering: .relaxed).newValue == 2 { giveUp() }
    }

    /// Ends the process at once: something may hang for ever.
    func giveUp() -> Never {
        say("given up")
        _exit(EXIT_FAILURE)
    }
}
