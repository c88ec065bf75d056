internal import LinuxSystem
internal import RunLoops
internal import Synchronization
internal import TaskBoundaries

/// Lets tasks in fault boundaries come to their ends before the process is replaced: their clients wait for answers.
///
/// Those that wait for what has faulted, an actor or a lock, never end. So it is over when none has ended for a while.
@MainActor
final class RequestsUnderWay {
    /// How long none has ended when the others are given up.
    private static let patience: Duration = .milliseconds(250)
    /// The same after a fault of an event loop: its clients wait for the next process.
    private static let patienceForLoop: Duration = .milliseconds(25)
    /// How long new clients wait for the next process at most.
    private static let limit: Duration = .seconds(1)
    /// Who has taken so long when the thread faults is not waited for: a stream that has no end, or something that hangs.
    private static let greatestAge: Duration = .seconds(1)
    /// How long one that has ended may take to write its answer, and a client that was accepted to be heard.
    private static let timeToWrite: Duration = .milliseconds(10)

    /// Whether another process serves, so that nobody waits for the end of this one.
    let isSucceeded: Bool
    private let isLoop: Bool
    /// How many are not waited for.
    private let lost: Int
    private var fewest: Int
    /// When there were no more than that.
    private var lastEnd = HostRunLoop.Instant.now
    private var timer: HostRunLoop.Timer?
    /// How often connections are looked for that were accepted for an event loop that stands still.
    private var looks: Int

    /// Notes what is under way now.
    ///
    /// - Parameters:
    ///   - thread: The thread that has faulted, which stands still; 0 if there is none.
    ///   - isSucceeded: Whether another process serves.
    init(afterFaultOf thread: CInt, isSucceeded: Bool) {
        self.isSucceeded = isSucceeded
        isLoop = ListenerHandover.isEventLoop(thread: thread)
        looks = isSucceeded && isLoop ? 2 : 0
        // Whoever asked an event loop for what has faulted waits for it.
        let lost = isSucceeded ? 0 : Self.endless(besideThoseOf: thread) + (isLoop ? 1 : 0)
        self.lost = lost
        fewest = BoundaryHost.running.load(ordering: .acquiring) - lost
    }

    /// How many will never end, as far as boundaries tell.
    private static func endless(besideThoseOf thread: CInt) -> Int {
        let parked = thread == 0 ? nil : TaskBoundaries.FaultBoundary.running(onThread: thread)
        let oldest = MonotonicClock.nanoseconds - greatestAge.saturatingNanoseconds
        let open = TaskBoundaries.FaultBoundary.open(atMost: 4096).boundaries
        return open.count { $0.since < oldest || $0.boundary === parked }
    }

    /// Holds back the drain of a process that another one has succeeded.
    func hold(_ drain: Drain, on loop: HostRunLoop) {
        // Also where none is under way: one may have ended a moment ago, and have an answer to write.
        guard BoundaryHost.isOpen else { return }
        let hold = drain.hold()
        wait(on: loop, before: drain.deadline) { hold.release() }
    }

    /// Accepts no more connections, ends those that there are with their answers, and does something when nothing is under way any more.
    ///
    /// - Parameters:
    ///   - loop: The main loop.
    ///   - deadline: When it is done in any case.
    ///   - body: What is done.
    func rest(on loop: HostRunLoop, before deadline: HostRunLoop.Instant, then body: @escaping @MainActor () -> Void) {
        let now = HostRunLoop.Instant.now
        guard BoundaryHost.isOpen, now < deadline else { return body() }
        ListenerHandover.restBeforeRestart()
        lastEnd = now
        wait(on: loop, before: min(deadline, now.advanced(by: Self.limit)), then: body)
    }

    private func wait(
        on loop: HostRunLoop,
        before deadline: HostRunLoop.Instant,
        then body: @escaping @MainActor () -> Void
    ) {
        let interval: Duration = .milliseconds(2)
        let timer = HostRunLoop.Timer(
            ofHost: "requests under way",
            fireAt: .now.advanced(by: interval),
            repeating: interval
        ) { _ in
            MainActor.assumeIsolated {
                if self.looks > 0 {
                    self.looks -= 1
                    _ = ListenerHandover.endUnwatchedConnections()
                }
                let now = HostRunLoop.Instant.now
                guard self.areOver(at: now) || now >= deadline else { return }
                self.forget()
                body()
            }
        }
        self.timer = timer
        loop.add(timer, to: .common)
    }

    /// Looks no more.
    func forget() {
        timer?.invalidate()
        timer = nil
    }

    private func areOver(at now: HostRunLoop.Instant) -> Bool {
        let count = BoundaryHost.running.load(ordering: .acquiring) - lost
        if count < fewest { (fewest, lastEnd) = (count, now) }
        // Each may have an answer to write when its boundary has ended, the last one too.
        let patience = isLoop && !isSucceeded ? Self.patienceForLoop : Self.patience
        return now >= lastEnd.advanced(by: count <= 0 && !isSucceeded ? Self.timeToWrite : patience)
    }
}
