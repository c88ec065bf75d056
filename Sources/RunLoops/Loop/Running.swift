import CRecoveryPoint
import LinuxSystem
import Synchronization

/// Running the loop. The numbers are those of the phases in CFRunLoop.c, `__CFRunLoopRun`.
extension HostRunLoop {
    /// Runs the loop in the default mode until it is stopped or the mode is empty.
    ///
    /// To be called on the loop's own thread.
    public func run() {
        // As CFRunLoopRun does it: a limit beyond the longest is none.
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
    ///   - limit: How long at most. Zero or less means one pass that does not wait; more than sixteen years means for ever.
    ///   - returnAfterSourceHandled: Whether to end after the first pass in which a source or a port was handled.
    /// - Returns: Why the run ended.
    @discardableResult
    public func run(
        in mode: Mode = .default,
        for limit: Duration,
        returnAfterSourceHandled: Bool = false
    ) -> RunResult {
        requireOwnProcess(to: "run")
        guard isCurrent else { Misuse.endProcessForWrongThread() }
        // Inside a callout, the loop's own code must not be resumed at that callout's recovery point.
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
        guard let loopMode = lock.withLock({ loopMode(named: mode) }) else { return .finished }
        loopMode.wasRun.store(true, ordering: .relaxed)
        prepareMainQueue(for: loopMode)
        guard !isEmpty(loopMode) else { return .finished }

        let outer = beginRun(in: loopMode)
        unsafe hf_loop_event_run(UInt32(HF_EVENT_ENTRY), nestingForEvents, loopMode.cName.pointer)
        notify(.entry, in: loopMode)
        let result = runPasses(in: loopMode, limit: limit, returnAfterSourceHandled: returnAfterSourceHandled)
        notify(.exit, in: loopMode)
        unsafe hf_loop_event_run(UInt32(HF_EVENT_EXIT), nestingForEvents, loopMode.cName.pointer)
        endRun(outer)
        return result
    }

    private func runPasses(in mode: LoopMode, limit: Duration, returnAfterSourceHandled: Bool) -> RunResult {
        if takeStop() { return .stopped }

        let deadline = pushDeadline(limit)
        defer { deadlines.removeLast() }
        let hostsMainQueue = hostsMainQueue(in: mode)
        var servedMainQueue = true

        while true {
            // Only this thread writes it.
            passes.store(passes.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
            // 1.
            wakeState.accept()
            if deadlines.count == 1, hasForeignWork.load(ordering: .relaxed) {
                _ = hasForeignWork.exchange(false, ordering: .acquiringAndReleasing)
            }
            if isStopped.load(ordering: .sequentiallyConsistent) {
                // Since the end of the last pass, when its wake-up was dropped: it ends this one.
                _ = wakeState.requestWake(isRemembered: false)
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
            if hostsMainQueue && !servedMainQueue && isMainQueueReady {
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
                wakeState.ignore()
                if !polls {
                    let run = runNumber
                    notify(.afterWaiting, in: mode)
                    if run != runNumber {
                        // A run inside an observer may have served it.
                        event = presentEvent(event, in: mode)
                    }
                }
            }
            // 12.
            wakeState.ignore()
            stage = .afterWaiting
            servedMainQueue = false
            switch event {
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
            if takeStop() { return .stopped }
            if isEmpty(mode) { return .finished }
        }
    }

    // MARK: The stack of runs

    /// What the end of a run restores.
    private struct OuterRun {
        let mode: LoopMode?
        let isStopped: Bool
        let ignoredWakeUps: Bool
        let stage: Activity
        let dueTimers: DueTimers
        let wasIdle: Bool
    }

    private func beginRun(in mode: LoopMode) -> OuterRun {
        runNumber += 1
        let wasIdle = progress.begin()
        let ignoredWakeUps = wakeState.accept()
        let outerDueTimers = dueTimers
        dueTimers = DueTimers()
        return lock.withLock {
            outerDueTimers.restore()
            let outer = OuterRun(
                mode: runningMode,
                isStopped: isStopped.load(ordering: .relaxed),
                ignoredWakeUps: ignoredWakeUps,
                stage: stage,
                dueTimers: outerDueTimers,
                wasIdle: wasIdle
            )
            runningMode = mode
            isStopped.store(false, ordering: .relaxed)
            depth.add(1, ordering: .releasing)
            return outer
        }
    }

    private func endRun(_ outer: OuterRun) {
        runNumber += 1
        lock.withLock {
            runningMode = outer.mode
            isStopped.store(outer.isStopped, ordering: .relaxed)
            depth.subtract(1, ordering: .releasing)
        }
        if outer.wasIdle { progress.end() }
        stage = outer.stage
        dueTimers = outer.dueTimers
        if let mode = outer.mode {
            // This run may have been where the main queue is not served.
            prepareMainQueue(for: mode)
        }
        if outer.ignoredWakeUps {
            wakeState.ignore()
        } else {
            // The outer run may be past its blocks and sources.
            wakeState.acceptMissed()
            if jobs.hasJobs || areAllRunsEnding.load(ordering: .acquiring) || hasForeignWork(for: outer.mode) {
                _ = wakeState.requestWake(isRemembered: false)
            }
        }
    }

    /// Says whether another thread left something for an outer run, whose wake-up a nested run in another mode has served.
    private func hasForeignWork(for mode: LoopMode?) -> Bool {
        guard let mode, hasForeignWork.load(ordering: .acquiring) else { return false }
        return hasBlocks(for: mode) || mode.hasSignals.load(ordering: .acquiring)
    }

    /// Takes the order to stop this run, if there is one.
    private func takeStop() -> Bool {
        guard isStopped.load(ordering: .acquiring) else { return false }
        isStopped.store(false, ordering: .relaxed)
        return true
    }

    private func pushDeadline(_ limit: Duration) -> RunDeadline {
        if !deadlines.isEmpty {
            // Those that have passed by now have had their wake-up.
            markOverdueRuns()
        }
        let deadline = RunDeadline(limit: limit)
        deadlines.append(deadline)
        return deadline
    }
}

extension HostRunLoop {
    /// Why a run ended.
    public enum RunResult: Sendable, Hashable {
        /// The mode had nothing that could ever wake it.
        case finished
        /// The run was stopped.
        case stopped
        /// The time was over.
        case timedOut
        /// A source was handled, and the run was to end after that.
        case handledSource
    }
}

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

/// Ending every run of a loop, for a thread that is about to end.
extension HostRunLoop {
    /// How long a request may go on when its thread was told to end: an answer that is under way is received.
    private static var requestGrace: Duration { .milliseconds(200) }

    /// Ends all runs, each at the end of its present pass, and every later run after one pass.
    ///
    /// There is no way back. Not lost when the loop does not run yet. Callable from any thread.
    func endAllRuns() {
        // Before the stop: a loop that drops its wake-up looks at this again before it sleeps.
        let end = Instant.now.advanced(by: Self.requestGrace).nanoseconds
        _ = endOfRequests.compareExchange(expected: .max, desired: end, ordering: .relaxed)
        areAllRunsEnding.store(true, ordering: .sequentiallyConsistent)
        stop()
    }

    /// Stops the innermost run if all are to end: `stop()` reaches one level only, and this is where every level passes.
    @inline(__always)
    func stopIfAllRunsEnd() {
        if areAllRunsEnding.load(ordering: .acquiring) {
            stop()
        }
    }
}
