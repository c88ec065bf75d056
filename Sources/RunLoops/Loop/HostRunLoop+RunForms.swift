import LinuxSystem
import Synchronization

/// The runs of Foundation's RunLoop, which are made of the one of CFRunLoop (run-loop item 64).
extension HostRunLoop {
    /// Runs the loop in the default mode until a point of time, or until the mode is empty.
    ///
    /// As in Foundation, it is a row of runs that each end after one source was handled, and `stop()` ends only the
    /// innermost of these: the row goes on. A point that is over means one pass that does not wait. To be called on the
    /// loop's own thread.
    ///
    /// - Parameter date: The point of time.
    public func run(until date: Instant) {
        // A thread that is told to end leaves every run after one pass.
        while run(in: .default, before: date), date > .now, !areAllRunsEnding.load(ordering: .acquiring) {}
    }

    /// Runs the loop in a mode until one source or port was handled, it is stopped, or a point of time.
    ///
    /// Timers and blocks do not end it, save for the last item of the mode. To be called on the loop's own thread.
    ///
    /// - Parameters:
    ///   - mode: The mode; nothing runs in `.common`.
    ///   - date: The point of time; one that is over means one pass that does not wait.
    /// - Returns: Whether it could be run, however that ended; `false` when the mode is empty or does not exist.
    @discardableResult
    public func run(in mode: Mode, before date: Instant) -> Bool {
        guard isRunnable(mode) else { return false }
        // From the earliest point to the present is more than a duration holds: that saturates.
        run(in: mode, for: Instant.now.duration(to: date), returnAfterSourceHandled: true)
        return true
    }

    /// Runs one pass of a mode that does not wait, and says until when a run of it would sleep.
    ///
    /// That pass fires timers that are due and may handle a source, as in Foundation. To be called on the loop's own
    /// thread.
    ///
    /// - Parameter mode: The mode; nothing runs in `.common`.
    /// - Returns: When its next timer fires, `.distantFuture` if it has none, or `nil` if it is empty or does not exist.
    public func limitDate(in mode: Mode) -> Instant? {
        run(in: mode, for: .zero, returnAfterSourceHandled: true)
        guard isRunnable(mode) else { return nil }
        return nextTimerFireDate(in: mode) ?? .distantFuture
    }

    /// Says whether a run of a mode would not end at once.
    private func isRunnable(_ name: Mode) -> Bool {
        requireOwnProcess(to: "run")
        guard isCurrent else { Misuse.endProcessForWrongThread() }
        if name == .common { Misuse.noteRunInCommonModes() }
        guard name != .common, let mode = lock.withLock({ modes[name] }) else { return false }
        // The main loop's common modes are never empty once they host the main dispatch queue.
        prepareMainQueue(for: mode)
        return !isEmpty(mode)
    }
}
