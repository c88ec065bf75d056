internal import LinuxSystem
internal import RunLoops

/// What others want of the reporter's thread.
final class StallInbox: @unchecked Sendable {
    private let monitor = Monitor()
    private let fork = ForkCount.current
    // Protected by `monitor`.
    private var stalls: [Stall] = []
    /// How often somebody wanted reports to be up to date, what of it the thread has taken, and what is done.
    private var wanted: UInt64 = 0
    private var taken: UInt64 = 0
    private var done: UInt64 = 0

    /// Adds what the monitor tells.
    ///
    /// On any thread.
    func add(_ stall: Stall) {
        monitor.lock()
        stalls.append(stall)
        monitor.broadcast()
        monitor.unlock()
    }

    /// Waits until all reports are up to date; says whether they are.
    ///
    /// On any thread but those of reports. In a forked child there is nobody to do it.
    func settle(before end: HostRunLoop.Instant) -> Bool {
        guard ForkCount.current == fork else { return true }
        monitor.lock()
        defer { monitor.unlock() }
        wanted += 1
        let own = wanted
        monitor.broadcast()
        while done < own, MonotonicClock.nanoseconds < end.nanoseconds { _ = monitor.wait(before: end.nanoseconds) }
        return done >= own
    }

    /// Says that what somebody wanted is done.
    ///
    /// On any thread.
    func isSettled(_ request: UInt64) {
        monitor.lock()
        done = max(done, request)
        monitor.broadcast()
        monitor.unlock()
    }

    /// Waits until there is something to do.
    ///
    /// - Parameters:
    ///   - due: When that is at the latest, in nanoseconds on the monotonic clock.
    ///   - clock: Told of the wait.
    /// - Returns: What is new, and what somebody wants since the last time, for `isSettled`.
    func next(before due: Int64, _ clock: inout RunningClock) -> (stalls: [Stall], request: UInt64?) {
        let begin = MonotonicClock.nanoseconds
        monitor.lock()
        defer { monitor.unlock() }
        while stalls.isEmpty, wanted == taken, MonotonicClock.nanoseconds < due { _ = monitor.wait(before: due) }
        // Without a time there is nothing whose length counts.
        clock.slept(from: begin, until: max(begin, due), now: MonotonicClock.nanoseconds)
        defer {
            stalls = []
            taken = wanted
        }
        return (stalls, wanted == taken ? nil : wanted)
    }
}
