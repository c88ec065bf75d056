internal import LinuxSystem
internal import RunLoops
internal import Synchronization
internal import TaskBoundaries

/// How long requests under way are waited for before the process is replaced.
package struct RequestPatience: Sendable {
    /// How long none has ended when the others are given up.
    package var next: Duration = .milliseconds(250)
    /// The same after a fault of an event loop: its clients wait for the next process.
    package var nextAfterLoop: Duration = .milliseconds(25)
    /// How long one that has ended may take to write its answer, and a client that was accepted to be heard.
    package var writing: Duration = .milliseconds(10)
    /// How long new clients wait for the next process at most.
    package var inAll: Duration = .seconds(1)
    /// Who has taken so long when the thread faults is not waited for: a stream that has no end, or something that hangs.
    package var greatestAge: Duration = .seconds(1)
}

/// Lets tasks in fault boundaries come to their ends before the process is replaced: their clients wait for answers.
///
/// Those that wait for what has faulted, an actor or a lock, never end. So it is over when none has ended for a while.
@MainActor
final class RequestsUnderWay {
    /// Whether another process serves, so that nobody waits for the end of this one.
    let isSucceeded: Bool
    private let patience: RequestPatience
    private var isLoop: Bool
    /// The boundary whose job has faulted: it never ends.
    private let parked: TaskBoundaries.FaultBoundary?
    /// When the thread faulted, in nanoseconds of CLOCK_MONOTONIC.
    private let begin = MonotonicClock.nanoseconds
    private var fewest = Int.max
    /// When there were no more than that.
    private var lastEnd = HostRunLoop.Instant.now
    private var timer: HostRunLoop.Timer?
    /// How often connections are looked for that were accepted for an event loop that stands still.
    private var looks: Int

    /// Notes what is under way now.
    ///
    /// - Parameters:
    ///   - thread: The thread that has faulted, which stands still.
    ///   - isSucceeded: Whether another process serves.
    ///   - patience: How long it waits.
    init(afterFaultOf thread: CInt, isSucceeded: Bool, _ patience: RequestPatience) {
        self.isSucceeded = isSucceeded
        self.patience = patience
        isLoop = ListenerHandover.isEventLoop(thread: thread)
        looks = isSucceeded && isLoop ? 2 : 0
        parked = isSucceeded ? nil : TaskBoundaries.FaultBoundary.running(onThread: thread)
        // Now: they may have ended when the drain begins, and still have answers to write.
        if isSucceeded { fewest = running }
    }

    /// Notes that another thread has faulted meanwhile.
    func note(faultOf thread: CInt) {
        guard ListenerHandover.isEventLoop(thread: thread) else { return }
        isLoop = true
        if isSucceeded { looks = 2 }
    }

    /// Holds back the drain of a process that another one has succeeded.
    func hold(_ drain: Drain, on loop: HostRunLoop) {
        // Also where none is under way: one may have ended a moment ago, and have an answer to write.
        guard BoundaryHost.isOpen else { return }
        let hold = drain.hold()
        look(on: loop) { [self] now in
            if looks > 0 {
                looks -= 1
                _ = ListenerHandover.endUnwatchedConnections()
            }
            note(running, at: now)
            // Each may have an answer to write when its boundary has ended, the last one too.
            guard now >= lastEnd.advanced(by: patience.next) else { return }
            forget()
            hold.release()
        }
    }

    /// Accepts no more connections, ends those that there are with their answers, and does something when nothing is under way any more.
    ///
    /// - Parameters:
    ///   - loop: The main loop.
    ///   - deadline: When it is done in any case.
    ///   - keepsSockets: Whether the next process gets the sockets that the program has opened.
    ///   - body: What is done, unless `forget()` is called before.
    func rest(
        on loop: HostRunLoop,
        before deadline: HostRunLoop.Instant,
        keepsSockets: Bool,
        then body: @escaping @MainActor () -> Void
    ) {
        lastEnd = .now
        guard BoundaryHost.isOpen, lastEnd < deadline else { return body() }
        ListenerHandover.restBeforeRestart(keepsOwn: keepsSockets)
        let end = min(deadline, lastEnd.advanced(by: patience.inAll))
        look(on: loop) { [self] now in
            let count = awaited
            note(count, at: now)
            // None may have begun yet for a client that was accepted before.
            let rest = count <= 0 ? patience.writing : isLoop ? patience.nextAfterLoop : patience.next
            guard now >= min(end, lastEnd.advanced(by: rest)) else { return }
            forget()
            body()
        }
    }

    private func look(on loop: HostRunLoop, _ body: @escaping @MainActor (HostRunLoop.Instant) -> Void) {
        let interval: Duration = .milliseconds(2)
        let timer = HostRunLoop.Timer(
            ofHost: "requests under way",
            fireAt: .now.advanced(by: interval),
            repeating: interval
        ) { _ in
            MainActor.assumeIsolated { body(.now) }
        }
        self.timer = timer
        loop.add(timer, to: .common)
    }

    /// Looks no more.
    func forget() {
        timer?.invalidate()
        timer = nil
    }

    private func note(_ count: Int, at now: HostRunLoop.Instant) {
        if count < fewest { (fewest, lastEnd) = (count, now) }
    }

    private var running: Int { BoundaryHost.running.load(ordering: .acquiring) }

    /// How many are under way that may end, as far as that can be told.
    private var awaited: Int {
        // No more than have a caller that waits.
        guard running > 0 else { return 0 }
        let oldest = begin - patience.greatestAge.saturatingNanoseconds
        let open = TaskBoundaries.FaultBoundary.open(atMost: 4096).boundaries
        let count = open.count { !$0.boundary.isAnswered && $0.since >= oldest && $0.boundary !== parked }
        // Whoever has asked an event loop for what has faulted waits for it: one of them is taken for that.
        return isLoop ? count - 1 : count
    }
}
