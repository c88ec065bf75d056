extension HostRunLoop {
    /// Adds a timer to a mode; it fires on time even if the loop is asleep now.
    ///
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - timer: The timer; nothing happens if it is invalid, in the mode already or in another loop.
    ///   - mode: The mode, which is made if it is new, or `.common`.
    /// - Returns: Whether it was added, or why not.
    @discardableResult
    public func add(_ timer: Timer, to mode: Mode = .default) -> AddResult {
        let result = addUnrefused(timer, to: mode).result
        interruptSleep(ifLaterThan: timer.withItemLock { timer.latestFireTime })
        return result
    }

    /// Removes a timer from a mode; it stays valid and can be added again.
    ///
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - timer: The timer.
    ///   - mode: The mode, or `.common` for all common modes if it was added to those.
    public func remove(_ timer: Timer, from mode: Mode = .default) {
        takeOut(timer, of: mode)
    }

    /// Says whether a timer is in a mode.
    ///
    /// - Parameters:
    ///   - timer: The timer.
    ///   - mode: The mode, or `.common` to ask whether it was added to the common modes.
    /// - Returns: Whether it is there.
    public func contains(_ timer: Timer, in mode: Mode = .default) -> Bool {
        holds(timer, in: mode)
    }

    /// Returns when the next timer of a mode fires.
    ///
    /// Callable from any thread.
    ///
    /// - Parameter mode: The mode.
    /// - Returns: The earliest fire date, or `nil` if the mode has no timer.
    public func nextTimerFireDate(in mode: Mode) -> Instant? {
        lock.withLock {
            guard let mode = modes[mode], mode.timers.count > 0 else { return nil }
            guard mode.timers.hasParkedElements else {
                return mode.timers.earliestDeadline.map(Instant.init(nanoseconds:))
            }
            // A timer that is firing counts with the date that has come, as in CFRunLoop.
            var earliest = Instant.distantFuture
            mode.timers.visitAll { earliest = min(earliest, $0.nextFireDate) }
            return earliest
        }
    }
}
