internal import LinuxSystem
internal import RunLoops

/// Requests to the reporter's thread.
final class StallInbox: @unchecked Sendable {
    private let monitor = Monitor()
    // Protected by `monitor`.
    private var stalls: [Stall] = []
    /// How many updates were requested, and how many of those the thread has taken and finished.
    private var wanted: UInt64 = 0
    private var taken: UInt64 = 0
    private var done: UInt64 = 0

    /// Adds a stall announced by the monitor.
    ///
    /// Callable from any thread.
    func add(_ stall: Stall) {
        monitor.lock()
        stalls.append(stall)
        monitor.broadcast()
        monitor.unlock()
    }

    /// Whether nothing waits to be looked at.
    ///
    /// Callable from any thread.
    var isEmpty: Bool {
        monitor.lock()
        defer { monitor.unlock() }
        return stalls.isEmpty
    }

    /// Waits until all reports are up to date; returns whether they are.
    ///
    /// Callable from any thread except those that write reports.
    func settle(before end: HostRunLoop.Instant) -> Bool {
        monitor.lock()
        defer { monitor.unlock() }
        wanted += 1
        let own = wanted
        monitor.broadcast()
        while done < own, MonotonicClock.nanoseconds < end.nanoseconds { _ = monitor.wait(before: end.nanoseconds) }
        return done >= own
    }

    /// Notes that a request is done.
    ///
    /// Callable from any thread.
    func isSettled(_ request: UInt64) {
        monitor.lock()
        done = max(done, request)
        monitor.broadcast()
        monitor.unlock()
    }

    /// Waits until there is something to do.
    ///
    /// - Parameters:
    ///   - due: When to return at the latest, in nanoseconds on the monotonic clock.
    ///   - clock: Told of the wait.
    /// - Returns: New stalls, and the number of a new request to pass to `isSettled`.
    func next(before due: Int64, _ clock: inout RunningClock) -> (stalls: [Stall], request: UInt64?) {
        let begin = MonotonicClock.nanoseconds
        monitor.lock()
        defer { monitor.unlock() }
        while stalls.isEmpty, wanted == taken, MonotonicClock.nanoseconds < due { _ = monitor.wait(before: due) }
        // With no due time, nothing is being measured.
        clock.slept(from: begin, until: max(begin, due), now: MonotonicClock.nanoseconds)
        defer {
            stalls = []
            taken = wanted
        }
        return (stalls, wanted == taken ? nil : wanted)
    }
}
