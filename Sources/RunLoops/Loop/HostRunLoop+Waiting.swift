import CRecoveryPoint
import LinuxSystem
import Synchronization

/// Phase 10 of a pass: finding the one thing to serve.
extension HostRunLoop {
    /// Returns what is to be served in this pass, and sleeps until there is something unless the pass only polls.
    ///
    /// What is ready at the same time takes turns, so that neither a timer that is always due nor a loop that wakes itself
    /// keeps a port from being served.
    func nextEvent(in mode: LoopMode, polls: Bool) -> LoopEvent {
        progress.look()
        var isTimeOver = false
        while true {
            let isWoken = wakeState.isPending
            let hasDueTimers = hasDueTimers(in: mode)
            // A wait harvests by itself; without one, the kernel has to be asked.
            let mustHarvest = polls || isWoken || hasDueTimers
            var turn = mode.lastTurn
            for _ in 0..<3 {
                turn = turn.next
                guard let event = takeEvent(turn, isWoken, hasDueTimers, mustHarvest, in: mode) else { continue }
                mode.lastTurn = turn
                return event
            }
            if polls || isTimeOver { return .none }
            isTimeOver = sleep(in: mode)
        }
    }

    private func takeEvent(
        _ turn: LoopEvent.Turn,
        _ isWoken: Bool,
        _ hasDueTimers: Bool,
        _ mustHarvest: Bool,
        in mode: LoopMode
    ) -> LoopEvent? {
        switch turn {
        case .wakeUp:
            return isWoken && wakeState.consume() ? .wakeUp : nil
        case .timers:
            return hasDueTimers ? .timers : nil
        case .ports:
            if let event = takePortEvent(in: mode) { return event }
            guard mustHarvest, mode.descriptorCount.load(ordering: .acquiring) > 0 else {
                return isMain ? mainQueueEventWithoutPoller(in: mode) : nil
            }
            harvestInRun(mode, blocks: false)
            return takePortEvent(in: mode)
        }
    }

    /// Says whether a timer of a mode is due.
    func hasDueTimers(in mode: LoopMode) -> Bool {
        let deadline = mode.nextDeadline.load(ordering: .relaxed)
        return deadline != .max && (deadline <= lastTime || deadline <= currentTime())
    }

    /// Reads the clock, and remembers it: what was due then is due.
    func currentTime() -> Int64 {
        let now = MonotonicClock.nanoseconds
        lastTime = now
        hf_loop_events_note_time(now)
        return now
    }

    /// How many runs are active, as events of the loop have it.
    var nestingForEvents: UInt32 { UInt32(truncatingIfNeeded: depth.load(ordering: .relaxed)) }

    /// Takes harvested events until one is of something that is still there.
    func takePortEvent(in mode: LoopMode) -> LoopEvent? {
        while let (token, events) = mode.events.next() {
            switch token {
            case PortTable.wakeToken, PortTable.timerToken:
                // They only end a sleep: what is to be done is in the wake state and on the clock.
                continue
            case PortTable.mainQueueToken:
                if hostsMainQueue(in: mode), isMainQueueReady { return .mainQueue }
            default:
                // Between two runs anything can have happened to the descriptor.
                let isNews = mode.harvestedInRun == runNumber
                if let port = isNews ? readyPort(token, events, in: mode) : readyPortNow(token, events, in: mode) {
                    return .port(port)
                }
            }
        }
        return nil
    }

    /// Returns what is left of an event after another run.
    func presentEvent(_ event: LoopEvent, in mode: LoopMode) -> LoopEvent {
        guard case .port(let port) = event else { return event }
        return readyPortNow(port.token, port.events, in: mode).map { .port($0) } ?? .none
    }

    /// Asks the kernel for events of a mode, all earlier ones being taken.
    func harvest(_ mode: LoopMode, blocks: Bool) {
        // A callout of this pass may have forked, and returned in the child.
        requireOwnProcess(to: "go on with")
        if let poller = mode.poller {
            poller.epoll.wait(into: &mode.events, blocks: blocks)
        } else if blocks {
            waitWithoutPoller(in: mode)
        }
        mode.harvestedInRun = runNumber
    }

    /// The same for a run.
    private func harvestInRun(_ mode: LoopMode, blocks: Bool) {
        harvest(mode, blocks: blocks)
        // Beside a system call it costs nothing.
        _ = hf_recovery_note_control_words()
    }

    /// Sleeps until something is ready, and says whether the time of a run is over.
    private func sleep(in mode: LoopMode) -> Bool {
        // Before the timer is armed: a forked child has the same one.
        requireOwnProcess(to: "go on with")
        // Nothing is ready: now is the time for what a fault left to be done.
        if stackPool.isShort { stackPool.replenish(size: stackSize.load(ordering: .relaxed)) }
        if mode.poller == nil { prepareToSleepWithoutPoller(in: mode) }
        guard wakeState.prepareToSleep() else { return false }
        // After announcing the sleep: whoever brings a deadline forward now sees it and interrupts it.
        let runs = earliestRunDeadline
        let end = min(timerDeadline(of: mode), runs == .max ? runs : runs + 1)
        block(until: end) {
            harvestInRun(mode, blocks: $0)
        }
        return runs != .max && markOverdueRuns()
    }

    /// When a sleep in a mode must end for its timers.
    ///
    /// Called after announcing the sleep.
    func timerDeadline(of mode: LoopMode) -> Int64 {
        let earliest = mode.nextDeadline.load(ordering: .sequentiallyConsistent)
        guard earliest != .max else { return .max }
        return lock.withLock { mode.coalescedDeadline }
    }

    /// Ends the announced sleep after `wait`, which is to block unless the time has come already.
    func block(until end: Int64, _ wait: (_ blocks: Bool) -> Void) {
        // A deadline that has come is never armed: it would cost a system call, and the kernel some thirty microseconds.
        let isOver = end != .max && end <= currentTime()
        var before: Progress.State?
        if !isOver {
            // It stands at never while nobody sleeps.
            if end != .max { sleepDeadline.store(end, ordering: .sequentiallyConsistent) }
            if end != armedDeadline, let descriptors = descriptors.present {
                armedDeadline = end
                descriptors.timer.set(to: end == .max ? nil : end)
            }
            before = progress.beginWait()
        }
        let sleep = isOver ? nil : unsafe hf_loop_event_sleep(nestingForEvents)
        wait(!isOver)
        unsafe hf_loop_event_awake(sleep)
        if let before { progress.endWait(backTo: before) }
        sleepDeadline.store(.max, ordering: .releasing)
        wakeState.endSleep()
    }

    // MARK: Deadlines of runs

    /// The deadline of this run, or that of a run around it that is earlier and has not ended a wait yet.
    private var earliestRunDeadline: Int64 {
        var earliest = deadlines.last?.time ?? .max
        for deadline in deadlines where !deadline.hasWoken {
            earliest = min(earliest, deadline.time)
        }
        return earliest
    }

    /// Marks the deadlines that have come, and says whether this run is over or another one was marked now.
    ///
    /// CFRunLoop's helper timer wakes the loop once, whichever run it belongs to (run-loop item 63).
    @discardableResult
    func markOverdueRuns() -> Bool {
        let now = MonotonicClock.nanoseconds
        var isAnyOver = deadlines.last.map { $0.time < now } ?? false
        for index in deadlines.indices where !deadlines[index].hasWoken && deadlines[index].time < now {
            deadlines[index].hasWoken = true
            isAnyOver = true
        }
        return isAnyOver
    }
}
