import CRecoveryPoint
import LinuxSystem
import Synchronization

/// Running the loop. The numbers are those of the phases in CFRunLoop.c, `__CFRunLoopRun`.
extension HostRunLoop {
    /// Runs the loop in the default mode until it is stopped or the mode is empty.
    ///
    /// To be called on the loop's own thread.
    @available(*, noasync, message: "a task must not block its thread: run a loop in a synchronous function")
    public func run() {
        // As in CFRunLoopRun: a limit beyond the longest one means no limit.
        while true {
            switch run(in: .default, for: .seconds(10_000_000_000)) {
            case .finished, .stopped: return
            case .timedOut, .handledSource: continue
            }
        }
    }

    /// Runs the loop in a mode.
    ///
    /// To be called on the loop's own thread, also from inside a callout.
    ///
    /// After the observers of `entry`, passes follow each other; one pass is, in this order:
    /// 1. wake-ups count again;
    /// 2. observers of `beforeTimers`;
    /// 3. observers of `beforeSources`;
    /// 4. the blocks that are queued;
    /// 5. the sources that are signalled;
    /// 6. if there were any, the blocks that are queued;
    /// 7. the pass only polls if a source was handled or the limit is zero;
    /// 8. the main dispatch queue, if it was not served in the pass before;
    /// 9. unless polling, observers of `beforeWaiting`;
    /// 10. the wait for a port, a timer or a wake-up;
    /// 11. unless polling, observers of `afterWaiting`;
    /// 12. exactly one of: all timers that are due, one port source, the main queue, a wake-up;
    /// 13. the blocks that are queued;
    /// 14. the end, if there is a reason, in the order: source handled, time over, stopped, nothing left.
    ///
    /// At the end the observers of `exit` are called. A run in an empty mode returns at once and calls nobody.
    ///
    /// - Parameters:
    ///   - mode: The mode; nothing runs in `.common`.
    ///   - limit: How long to run at most. Zero or less means one pass that does not wait; more than sixteen years means for ever.
    ///   - returnAfterSourceHandled: Whether to end after the first pass in which a source or a port was handled.
    /// - Returns: Why the run ended.
    @available(*, noasync, message: "a task must not block its thread: run a loop in a synchronous function")
    @discardableResult
    public func run(
        in mode: Mode = .default,
        for limit: Duration,
        returnAfterSourceHandled: Bool = false
    ) -> RunResult {
        requireOwnProcess(to: "run")
        guard isCurrent else { Misuse.endProcessForWrongThread() }
        // Another thread may have made the main loop.
        lock.own()
        // Inside a callout, a fault of the loop's own code must not be resumed at that callout's recovery point.
        let suspended = unsafe hf_recovery_suspend()
        let outerRun = hf_recovery_begin_run()
        defer {
            hf_recovery_end_run(outerRun)
            unsafe hf_recovery_restore(suspended)
        }

        guard mode != .common else {
            Misuse.noteRunInCommonModes()
            return .finished
        }
        guard let loopMode = lock.withLock({ modes.find(mode) }) else { return .finished }
        loopMode.noteRun()
        prepareMainQueue(for: loopMode)
        guard !isEmpty(loopMode) else { return .finished }

        let outer = beginRun(in: loopMode)
        unsafe hf_loop_event_run(UInt32(HF_EVENT_ENTRY), runs.nesting, loopMode.cName.pointer)
        notify(.entry, in: loopMode)
        let result = runPasses(in: loopMode, limit: limit, returnAfterSourceHandled: returnAfterSourceHandled)
        notify(.exit, in: loopMode)
        unsafe hf_loop_event_run(UInt32(HF_EVENT_EXIT), runs.nesting, loopMode.cName.pointer)
        endRun(outer)
        return result
    }

    private func runPasses(in mode: LoopMode, limit: Duration, returnAfterSourceHandled: Bool) -> RunResult {
        if runs.takeStop() { return .stopped }

        let deadline = runs.pushDeadline(limit)
        defer { runs.popDeadline() }
        let hostsMainQueue = hostsMainQueue(in: mode)
        var servedMainQueue = true

        while true {
            runs.countPass()
            // 1.
            waker.state.accept()
            if runs.isOutermost { waker.forgetForeignWork() }
            if runs.isStopped {
                // A stop between two passes, when its wake-up was dropped, ends this pass.
                _ = waker.state.requestWake(isRemembered: false)
            }
            // 2.
            notify(.beforeTimers, in: mode)
            // 3.
            notify(.beforeSources, in: mode)
            // 4.
            performBlocks(in: mode)
            // 5. and 6.
            var handledSource = performSources(in: mode, stopAfterFirst: returnAfterSourceHandled)
            if handledSource {
                performBlocks(in: mode)
            }
            // 7.
            let polls = handledSource || deadline == .poll
            // 8. Skips 9 to 11.
            var event: LoopEvent
            if hostsMainQueue && !servedMainQueue && mainQueue.isReady {
                progress.look()
                event = .mainQueue
            } else {
                // 9.
                if !polls {
                    notify(.beforeWaiting, in: mode)
                }
                // 10.
                event = nextEvent(in: mode, polls: polls)
                // 11.
                waker.ignoreAfterSleep()
                if !polls {
                    let run = runs.number
                    notify(.afterWaiting, in: mode)
                    if run != runs.number {
                        // A run inside an observer may have served it.
                        event = presentEvent(event, in: mode)
                    }
                }
            }
            // 12.
            waker.state.ignore()
            runs.reach(.afterWaiting)
            servedMainQueue = false
            switch consume event {
            case .none, .wakeUp:
                break
            case .timers:
                fireTimers(in: mode)
            case .port(let port):
                if servePort(port, in: mode) {
                    handledSource = true
                }
            case .mainQueue:
                serveMainQueue(in: mode)
                servedMainQueue = true
                handledSource = true
            }
            // 13.
            performBlocks(in: mode)
            checkInvariants()
            // 14.
            if handledSource && returnAfterSourceHandled { return .handledSource }
            if deadline.isOver { return .timedOut }
            if runs.takeStop() { return .stopped }
            if isEmpty(mode) { return .finished }
        }
    }

    // MARK: The beginning and the end of a run

    /// What the end of a run restores.
    private struct OuterRun {
        let run: RunStack.Outer
        let ignoredWakeUps: Bool
        let dueTimers: DueTimers
        let wasIdle: Bool
    }

    private func beginRun(in mode: LoopMode) -> OuterRun {
        runs.countBoundary()
        let wasIdle = progress.begin()
        let ignoredWakeUps = waker.state.accept()
        let dueTimers = timers.beginRun()
        let run = lock.withLock {
            dueTimers.restore()
            return runs.enter(mode)
        }
        return OuterRun(run: run, ignoredWakeUps: ignoredWakeUps, dueTimers: dueTimers, wasIdle: wasIdle)
    }

    private func endRun(_ outer: OuterRun) {
        runs.countBoundary()
        let outerMode = lock.withLock { runs.leave(to: outer.run) }
        if outer.wasIdle { progress.end() }
        timers.endRun(outer.dueTimers)
        if let outerMode {
            // This run may have been in a mode where the main queue is not served.
            prepareMainQueue(for: outerMode)
        }
        if outer.ignoredWakeUps {
            waker.state.ignore()
        } else {
            // The outer run may already be past its blocks and sources.
            waker.state.acceptMissed()
            if jobs.hasJobs || runs.areAllEnding || hasForeignWork(for: outerMode) {
                _ = waker.state.requestWake(isRemembered: false)
            }
        }
    }

    /// Whether another thread left work for an outer run, whose wake-up a nested run in another mode has consumed.
    private func hasForeignWork(for mode: LoopMode?) -> Bool {
        guard let mode, waker.hasForeignWork else { return false }
        return hasBlocks(for: mode) || mode.hasSignals
    }
}

extension HostRunLoop {
    /// Why a run ended.
    public enum RunResult: Sendable, Hashable {
        /// The mode had nothing that could ever wake it.
        case finished
        /// The run was stopped.
        case stopped
        /// The time limit passed.
        case timedOut
        /// A source was handled, and the run was to end after that.
        case handledSource
    }
}

/// The runs of Foundation's RunLoop, built on those of CFRunLoop.
extension HostRunLoop {
    /// Runs the loop in the default mode until a point of time, or until the mode is empty.
    ///
    /// As in Foundation, it is a series of runs that each end after one source was handled. `stop()` ends only the current run, and
    /// the series goes on. A point in the past means one pass that does not wait. Call it on the loop's own thread.
    ///
    /// - Parameter date: The point of time.
    @available(*, noasync, message: "a task must not block its thread: run a loop in a synchronous function")
    public func run(until date: Instant) {
        // A thread that is told to end leaves every run after one pass.
        while run(in: .default, before: date), date > .now, !runs.areAllEnding {}
    }

    /// Runs the loop in a mode until one source or port was handled, it is stopped, or a point of time is reached.
    ///
    /// Timers and blocks do not end it, unless the mode is empty after them. Call it on the loop's own thread.
    ///
    /// - Parameters:
    ///   - mode: The mode; nothing runs in `.common`.
    ///   - date: The point of time; one in the past means one pass that does not wait.
    /// - Returns: Whether the mode could be run; `false` if it is empty or does not exist.
    @available(*, noasync, message: "a task must not block its thread: run a loop in a synchronous function")
    @discardableResult
    public func run(in mode: Mode, before date: Instant) -> Bool {
        guard isRunnable(mode) else { return false }
        // The time from the earliest point to the present saturates, because a duration cannot hold it.
        run(in: mode, for: Instant.now.duration(to: date), returnAfterSourceHandled: true)
        return true
    }

    /// Runs one pass of a mode that does not wait; returns the time until which a run of the mode would then sleep.
    ///
    /// The pass fires due timers and may handle a source, as in Foundation. Call it on the loop's own thread.
    ///
    /// - Parameter mode: The mode; nothing runs in `.common`.
    /// - Returns: When its next timer fires, `.distantFuture` if it has none, or `nil` if the mode is empty or does not exist.
    @available(*, noasync, message: "a task must not block its thread: run a loop in a synchronous function")
    public func limitDate(in mode: Mode) -> Instant? {
        run(in: mode, for: .zero, returnAfterSourceHandled: true)
        guard isRunnable(mode) else { return nil }
        return nextTimerFireDate(in: mode) ?? .distantFuture
    }

    /// Whether a run of a mode would not end at once.
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

/// Ends every run of a loop whose thread is about to end.
extension HostRunLoop {
    /// How long a request may go on after its thread was told to end, so that an answer under way is received.
    private static var requestGrace: Duration { .milliseconds(200) }

    /// Ends all runs, each at the end of its present pass, and every later run after one pass.
    ///
    /// This cannot be undone. It is not lost if the loop does not run yet. Callable from any thread.
    func endAllRuns() {
        // Before the stop: a loop that drops its wake-up looks at this again before it sleeps.
        runs.endAll(requestsBefore: Instant.now.advanced(by: Self.requestGrace).nanoseconds)
        stop()
    }

    /// Stops the innermost run if all are to end: `stop()` reaches one level only, and every level passes here.
    @inline(__always)
    func stopIfAllRunsEnd() {
        if runs.areAllEnding {
            stop()
        }
    }
}
