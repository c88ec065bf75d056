internal import RunLoops
internal import Synchronization

/// A loop that is watched; it may be released meanwhile.
final class WatchedLoop: WatchedSubject {
    private let progress: HostRunLoop.Progress
    private let loop: WeakLoop
    /// The busy period that stalls, or that stalled last.
    ///
    /// Protected by its lock.
    private let stalled = Mutex<HostRunLoop.Progress.Reading?>(nil)

    /// Makes the loop ring for its watcher; it must be looked at next.
    init(_ loop: HostRunLoop) {
        progress = loop.progress
        self.loop = WeakLoop(loop)
        progress.startRinging()
    }

    deinit {
        progress.stopRinging()
    }

    func isLoop(_ other: HostRunLoop) -> Bool { progress === other.progress }

    var subject: Stall.Subject? { loop.value.map { .loop($0) } }

    var sight: StallDetector.Sight {
        let reading = progress.reading
        return StallDetector.Sight(number: reading.number, isBusy: reading.state == .busy)
    }

    var due: Int64 { .max }

    func act(at now: Int64) -> Bool { false }

    func thread(in number: UInt64) -> CInt? {
        let thread = progress.thread
        // The order matters: a thread that ends first resets its number.
        return thread != 0 && progress.reading.number == number ? thread : nil
    }

    var callout: (number: UInt64, item: UInt64)? { progress.callout.map { ($0.callouts, $0.calledItem) } }

    func noteStall(of number: UInt64) {
        let reading = progress.reading
        guard reading.number == number else { return }
        stalled.withLock { $0 = reading }
        progress.timeEnd(of: reading)
    }

    func end(of number: UInt64) -> Int64? {
        guard let reading = stalled.withLock({ $0 }), reading.number == number else { return nil }
        return progress.end(of: reading)?.nanoseconds
    }
}

/// A weak reference to a watched loop.
final class WeakLoop: @unchecked Sendable {
    // Written once; the runtime synchronises reads with the release of the loop.
    weak var value: HostRunLoop?

    init(_ value: HostRunLoop) { self.value = value }
}
