import LinuxSystem
import Synchronization

/// Phase 10 of a pass: finding the one thing to serve.
extension HostRunLoop {
    /// Returns what is to be served in this pass, and sleeps until there is something unless the pass only polls.
    ///
    /// What is ready at the same time takes turns, so that neither a timer that is always due nor a loop that wakes itself
    /// keeps a port from being served.
    func nextEvent(in mode: LoopMode, polls: Bool) -> LoopEvent {
        var isTimeOver = false
        while true {
            let isWoken = wakeState.isPending
            let hasDueTimers = hasDueTimers(in: mode)
            // A wait harvests by itself; without one, the kernel has to be asked.
            let mustHarvest = polls || isWoken || hasDueTimers
            var turn = lastTurn
            for _ in 0..<3 {
                turn = turn.next
                guard let event = takeEvent(turn, isWoken, hasDueTimers, mustHarvest, in: mode) else { continue }
                lastTurn = turn
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
            guard mustHarvest, mode.descriptorCount.load(ordering: .acquiring) > 0 else { return nil }
            harvest(mode, nanoseconds: 0)
            return takePortEvent(in: mode)
        }
    }

    /// Says whether a timer of a mode is due.
    func hasDueTimers(in mode: LoopMode) -> Bool {
        let deadline = mode.nextDeadline.load(ordering: .relaxed)
        return deadline != .max && deadline <= MonotonicClock.nanoseconds
    }

    /// Takes harvested events until one is of something that is still there.
    func takePortEvent(in mode: LoopMode) -> LoopEvent? {
        while let (token, events) = mode.events.next() {
            switch token {
            case PortTable.wakeToken:
                // Whether it still means anything is in the wake state.
                wakeDescriptor.clear()
            case PortTable.mainQueueToken:
                if hostsMainQueue(in: mode), isMainQueueReady { return .mainQueue }
            default:
                guard let (source, _) = portSource(for: token, events, in: mode) else { continue }
                // Old news: between two runs anything can have happened to the descriptor.
                if mode.harvestedInRun != runNumber {
                    let present = Readiness.now(of: source.descriptor, for: events)
                    guard portSource(for: token, present, in: mode) != nil else { continue }
                    return .port(token: token, events: present)
                }
                return .port(token: token, events: events)
            }
        }
        return nil
    }

    /// Returns what is left of an event after another run.
    func presentEvent(_ event: LoopEvent, in mode: LoopMode) -> LoopEvent {
        guard case .port(let token, let events) = event else { return event }
        guard let (source, _) = portSource(for: token, events, in: mode) else { return .none }
        let present = Readiness.now(of: source.descriptor, for: events)
        return portSource(for: token, present, in: mode) == nil ? .none : .port(token: token, events: present)
    }

    /// Asks the kernel for events of a mode, all earlier ones being taken.
    func harvest(_ mode: LoopMode, nanoseconds: Int64?) {
        mode.epoll.wait(into: &mode.events, nanoseconds: nanoseconds)
        mode.harvestedInRun = runNumber
    }

    /// Sleeps until something is ready, and says whether the time of a run is over.
    private func sleep(in mode: LoopMode) -> Bool {
        guard wakeState.prepareToSleep() else { return false }
        // After announcing the sleep: whoever brings a deadline forward now sees it and interrupts it.
        let timers = mode.nextDeadline.load(ordering: .sequentiallyConsistent)
        let runs = earliestRunDeadline
        let end = min(timers, runs == .max ? runs : runs + 1)
        sleepDeadline.store(end, ordering: .sequentiallyConsistent)
        isBlocked.store(true, ordering: .releasing)
        harvest(mode, nanoseconds: end == .max ? nil : max(0, end - MonotonicClock.nanoseconds))
        isBlocked.store(false, ordering: .releasing)
        sleepDeadline.store(.max, ordering: .sequentiallyConsistent)
        wakeState.endSleep()
        return runs != .max && markOverdueRuns()
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
