/// A thread that runs jobs of tasks, one after the other.
///
/// A job that keeps it for long stalls whoever waits for it: the caller of its fault boundary, or the jobs that wait for a thread.
final class WatchedWorker: WatchedSubject {
    private let look: @Sendable () -> StallMonitor.WorkerSight

    init(_ look: @escaping @Sendable () -> StallMonitor.WorkerSight) {
        self.look = look
    }

    var subject: Stall.Subject? { .job }

    var sight: StallDetector.Sight {
        let sight = look()
        return StallDetector.Sight(number: sight.number, isBusy: sight.isBusy)
    }

    var due: Int64 { .max }

    func act(at now: Int64) -> Bool { false }

    func thread(in number: UInt64) -> CInt? {
        let sight = look()
        return sight.number == number ? sight.thread : nil
    }

    var callout: (number: UInt64, item: UInt64)? { nil }

    func noteStall(of number: UInt64) {}

    func end(of number: UInt64) -> Int64? { nil }
}
