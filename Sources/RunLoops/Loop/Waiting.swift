import CRecoveryPoint
import LinuxSystem
import Synchronization
import SystemPackage

/// Phase 10 of a pass: finding the one thing to serve.
extension HostRunLoop {
    /// Returns the event to serve in this pass; sleeps until there is one, unless the pass only polls.
    ///
    /// Kinds of events that are ready together take turns. So neither a timer that is always due nor a loop that wakes itself keeps a port
    /// from being served.
    ///
    /// The sleep may still be announced when this returns: one instruction ends it and starts to drop wake-ups. A thread that wakes the
    /// loop meanwhile writes to the eventfd for nothing.
    func nextEvent(in mode: LoopMode, polls: Bool) -> LoopEvent {
        progress.look()
        var isTimeOver = false
        var hasSlept = false
        while true {
            let isWoken = waker.state.isPending
            let hasDueTimers = hasDueTimers(in: mode)
            if !isWoken, !hasDueTimers {
                // Ports take turns with nobody. A wait harvests anyway.
                if let event = takePortEvent(in: mode, mustHarvest: polls) {
                    mode.noteTurn(.ports)
                    return event
                }
            } else if let event = takeEventInTurn(isWoken, hasDueTimers, in: mode) {
                return event
            }
            if polls || isTimeOver { return .none }
            if hasSlept { waker.endSleep() }
            isTimeOver = sleep(in: mode)
            hasSlept = true
        }
    }

    private func takeEventInTurn(_ isWoken: Bool, _ hasDueTimers: Bool, in mode: LoopMode) -> LoopEvent? {
        var turn = mode.lastTurn
        for _ in 0..<3 {
            turn = turn.next
            guard let event = takeEvent(turn, isWoken, hasDueTimers, in: mode) else { continue }
            mode.noteTurn(turn)
            return event
        }
        return nil
    }

    private func takeEvent(
        _ turn: LoopEvent.Turn,
        _ isWoken: Bool,
        _ hasDueTimers: Bool,
        in mode: LoopMode
    ) -> LoopEvent? {
        switch turn {
        case .wakeUp:
            return isWoken && waker.state.consume() ? .wakeUp : nil
        case .timers:
            return hasDueTimers ? .timers : nil
        case .ports:
            // There will be no wait, so the kernel must be asked.
            return takePortEvent(in: mode, mustHarvest: true)
        }
    }

    @inline(__always)
    private func takePortEvent(in mode: LoopMode, mustHarvest: Bool) -> LoopEvent? {
        if let event = takePortEvent(in: mode) { return event }
        guard mustHarvest, mode.descriptorCount > 0 else {
            return isMain ? mainQueueEventWithoutPoller(in: mode) : nil
        }
        harvestInRun(mode, blocks: false)
        return takePortEvent(in: mode)
    }

    /// Whether a timer of a mode is due.
    func hasDueTimers(in mode: LoopMode) -> Bool {
        let deadline = mode.nextDeadline
        return deadline != .max && (deadline <= timers.lastTime || deadline <= currentTime())
    }

    /// Reads the clock, and remembers the time: timers that were due then are due.
    func currentTime() -> Int64 {
        let now = timers.readClock()
        hf_loop_events_note_time(now)
        return now
    }

    /// Takes harvested events until one belongs to an item that is still there.
    func takePortEvent(in mode: LoopMode) -> LoopEvent? {
        while let (token, events) = mode.nextEvent() {
            switch token {
            case PortTable.wakeToken, PortTable.timerToken:
                // The loop's own descriptors only end a sleep: the work is in the wake state and on the clock.
                continue
            case PortTable.mainQueueToken:
                if hostsMainQueue(in: mode), mainQueue.isReady { return .mainQueue }
            default:
                // Between two runs anything can have happened to the descriptor.
                let isNews = mode.isNews(inRun: runs.number)
                if let port = isNews ? readyPort(token, events, in: mode) : readyPortNow(token, events, in: mode) {
                    return .port(port)
                }
            }
        }
        return nil
    }

    /// Returns the event, reduced to what still holds after another run.
    func presentEvent(_ event: LoopEvent, in mode: LoopMode) -> LoopEvent {
        guard case .port(let port) = event else { return event }
        return readyPortNow(port.token, port.events, in: mode).map { .port($0) } ?? .none
    }

    /// Asks the kernel for events of a mode, when all earlier ones are taken.
    func harvest(_ mode: LoopMode, blocks: Bool) {
        // A callout of this pass may have forked, and returned in the child.
        requireOwnProcess(to: "go on with")
        if !mode.harvest(inRun: runs.number, blocks: blocks), blocks {
            waitWithoutPoller(in: mode)
        }
    }

    /// The same for a run.
    private func harvestInRun(_ mode: LoopMode, blocks: Bool) {
        harvest(mode, blocks: blocks)
        // Next to a system call this costs nothing.
        _ = hf_recovery_note_control_words()
    }

    /// Sleeps until something is ready; returns whether the time of a run is over.
    ///
    /// The sleep stays announced.
    private func sleep(in mode: LoopMode) -> Bool {
        // Before the timer is armed, which a forked child shares with its parent.
        requireOwnProcess(to: "go on with")
        // Nothing is ready: do the work that a fault has put off.
        if stackPool.isShort { stackPool.replenish(size: calloutStackSize) }
        if !mode.hasPoller { prepareToSleepWithoutPoller(in: mode) }
        guard waker.state.prepareToSleep() else { return false }
        // Read after announcing the sleep: a thread that brings a deadline forward now sees the sleep and interrupts it.
        let limit = runs.earliestDeadline
        let end = min(timerDeadline(of: mode), limit == .max ? limit : limit + 1)
        block(until: end) {
            harvestInRun(mode, blocks: $0)
        }
        return limit != .max && runs.markOverdue()
    }

    /// When a sleep in a mode must end for its timers.
    ///
    /// Called after announcing the sleep.
    func timerDeadline(of mode: LoopMode) -> Int64 {
        let earliest = mode.nextDeadlineOfSleeper
        guard earliest != .max else { return .max }
        return lock.withLock { mode.coalescedDeadline }
    }

    /// Calls `wait`, which blocks unless the deadline has already come; the sleep stays announced.
    @inline(__always)
    func block(until end: Int64, _ wait: (_ blocks: Bool) -> Void) {
        // A deadline that has already come is not armed: that would cost a system call, and the kernel some thirty microseconds.
        let isOver = end != .max && end <= currentTime()
        var before: Progress.State?
        if !isOver {
            waker.arm(until: end)
            before = progress.beginWait()
        }
        let sleep = isOver ? nil : unsafe hf_loop_event_sleep(runs.nesting)
        wait(!isOver)
        unsafe hf_loop_event_awake(sleep)
        if let before { progress.endWait(backTo: before) }
    }
}

/// The descriptors of a loop, and how it works without them.
///
/// A loop needs an eventfd, a timerfd, and an epoll instance for each mode. If the process has no descriptor left, loops and modes
/// can still be made, and they work without descriptors until there are some again. Only adding a port is refused.
extension HostRunLoop {
    /// How long a loop without an eventfd sleeps at most, and so how late a wake-up may come.
    private static var slice: Int64 { 5_000_000 }

    /// How many descriptors the port sources of the default mode watch.
    ///
    /// Callable from any thread.
    package var watchedDescriptors: Int {
        lock.withLock { modes[.default]?.ports.descriptorCount ?? 0 }
    }

    /// Makes the descriptors for sleeping in the default mode, if they are missing.
    ///
    /// - Throws: The error of the call that failed: `EMFILE`, `ENFILE` or `ENOMEM`.
    func requireDescriptors() throws(Errno) {
        _ = try lock.withLock { loopMode(creating: .default) }.requiredPoller()
    }

    // MARK: On the loop's thread, in a mode that has no epoll instance

    /// Tries again to make the mode's epoll instance.
    ///
    /// Without one, makes the eventfd unreadable until it is written again.
    ///
    /// Called before the sleep is announced: a thread that wakes the loop after that writes to the eventfd.
    func prepareToSleepWithoutPoller(in mode: LoopMode) {
        do throws(Errno) {
            _ = try mode.requiredPoller()
            prepareMainQueue(for: mode)
        } catch {
            waker.descriptors.present?.wake.clear()
        }
    }

    /// Sleeps until the loop is woken, its published deadline has come, or the main dispatch queue has work.
    ///
    /// The mode has no other descriptor, because adding one needs an epoll instance. May end without a reason.
    func waitWithoutPoller(in mode: LoopMode) {
        guard let pair = waker.descriptors.present else {
            return waitInSlices(servingMainQueue: hostsMainQueue(in: mode))
        }
        let mainQueue = hostsMainQueue(in: mode) ? [mainQueue.descriptor] : []
        Readiness.wait(forAny: [pair.wake.rawValue, pair.timer.rawValue] + mainQueue)
    }

    /// Sleeps for one slice at most, in a loop that nobody can wake.
    func waitInSlices(servingMainQueue: Bool) {
        let mainQueue = servingMainQueue ? [mainQueue.descriptor] : []
        let end = waker.endOfSleep
        let rest = end == .max ? .max : end - MonotonicClock.nanoseconds
        Readiness.wait(forAny: mainQueue, atMost: min(Self.slice, rest))
    }
}

/// Waiting for several modes at once.
///
/// Uses poll(2) on the epoll instances of the modes. An epoll instance around them would need a descriptor, but the sweep after a
/// fault must work in a process that has none left.
extension HostRunLoop {
    /// Sleeps until a run in one of some modes would have something to do, or the loop is woken.
    ///
    /// That is a ready port, a due timer, a signalled source or a queued block. Serves nothing and calls no observer. Call it on the loop's
    /// own thread, between runs.
    ///
    /// - Parameters:
    ///   - names: The modes, without `.common`. A mode that does not exist counts as soon as it does. Until then, only the limit and a
    ///     wake-up end the wait for it.
    ///   - limit: How long at most; zero or less does not wait.
    /// - Returns: Whether there is something to do; `false` if the time was over.
    package func waitUntilAnyModeIsReady(_ names: [Mode], for limit: Duration) -> Bool {
        let end = limit <= .zero ? .min : Instant.now.advanced(by: limit).nanoseconds
        return waitUntilReady(names, until: end, endsAtWakeUp: true)
    }

    /// Does the same, until a time on the monotonic clock.
    ///
    /// - Parameters:
    ///   - names: The modes.
    ///   - end: The time, in nanoseconds.
    ///   - endsAtWakeUp: Whether a wake-up ends it. If not, wake-ups that come meanwhile go to the run around it.
    /// - Returns: Whether there is something to do.
    func waitUntilReady(_ names: [Mode], until end: Int64, endsAtWakeUp: Bool) -> Bool {
        requireOwnProcess(to: "wait for")
        guard isCurrent else { Misuse.endProcessForWrongThread() }
        let ignoredWakeUps = waker.state.accept()
        var wasWoken = false
        defer {
            if wasWoken { _ = waker.state.requestWake(isRemembered: false) }
            if ignoredWakeUps { waker.state.ignore() }
        }
        while true {
            let candidates = existingModes(names)
            if waker.state.consume() {
                if endsAtWakeUp { return true }
                wasWoken = true
            }
            if candidates.contains(where: isReady) { return true }
            if end <= MonotonicClock.nanoseconds { return false }
            requireOwnProcess(to: "go on with")
            // For poll(2) the eventfd is level-triggered, unlike in the modes. So it is cleared before the sleep is announced: a thread
            // that wakes the loop after that writes to it again.
            waker.descriptors.present?.wake.clear()
            guard waker.state.prepareToSleep() else { continue }
            // Checked after the announcement: a mode that is made from now on ends the sleep.
            guard existingModes(names).count == candidates.count else {
                waker.state.endSleep()
                continue
            }
            block(until: min(end, candidates.map(timerDeadline).min() ?? .max)) {
                if $0 { waitWithoutHarvest(for: candidates) }
            }
            waker.endSleep()
        }
    }

    /// The modes among these to which anything was ever added, with the main dispatch queue in its place.
    private func existingModes(_ names: [Mode]) -> [LoopMode] {
        let existing = lock.withLock { () -> [LoopMode] in
            var seen: Set<Mode> = [.common]
            return names.compactMap { seen.insert($0).inserted ? modes[$0] : nil }
        }
        for mode in existing {
            prepareMainQueue(for: mode)
        }
        return existing
    }

    /// Sleeps until something is ready in one of some modes, or the announced sleep is ended; may end without a reason.
    private func waitWithoutHarvest(for modes: [LoopMode]) {
        guard let pair = waker.descriptors.present else {
            waitInSlices(servingMainQueue: modes.contains(where: hostsMainQueue))
            return
        }
        var watched = [pair.wake.rawValue, pair.timer.rawValue]
        for mode in modes {
            if let poller = mode.poller {
                watched.append(poller.epoll.rawValue)
            } else if hostsMainQueue(in: mode) {
                watched.append(mainQueue.descriptor)
            }
        }
        Readiness.wait(forAny: watched)
    }

    private func isReady(_ mode: LoopMode) -> Bool {
        if hasDueTimers(in: mode) || hasBlocks(for: mode) || hasReadyPort(mode) { return true }
        let signals = mode.signals
        guard signals != 0 else { return false }
        return lock.withLock {
            var isAnySignalled = false
            mode.sources.visit(signals) { isAnySignalled = isAnySignalled || $0.isSignalled }
            return isAnySignalled
        }
    }

    /// Harvests a mode's events; returns whether any is not of the loop's own descriptors.
    private func hasReadyPort(_ mode: LoopMode) -> Bool {
        if mainQueueEventWithoutPoller(in: mode) != nil { return true }
        if mode.hasNoEvents {
            harvest(mode, blocks: false)
        }
        guard takePortEvent(in: mode) != nil else { return false }
        mode.putBackEvent()
        return true
    }
}
