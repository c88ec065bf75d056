import LinuxSystem
import Synchronization

/// Waiting for several modes at once.
///
/// By poll(2) on the epoll instances of the modes, and not by one that holds them all: it takes no descriptor, so that the way
/// back after a fault works in a process that has none left.
extension HostRunLoop {
    /// Sleeps until a run in one of some modes would have something to do, or the loop is woken.
    ///
    /// That is a port that is ready, a timer that is due, a source that is signalled or a block that is queued. Serves
    /// nothing and calls no observer. To be called on the loop's own thread, between runs.
    ///
    /// - Parameters:
    ///   - names: The modes; `.common` is left out. One that does not exist counts from the time on when it does: until
    ///     then, only the limit and a wake-up end the wait for it.
    ///   - limit: How long at most; zero or less does not wait.
    /// - Returns: Whether there is something to do; `false` when the time was over.
    public func waitUntilAnyModeIsReady(_ names: [Mode], for limit: Duration) -> Bool {
        let end = limit <= .zero ? .min : Instant.now.advanced(by: limit).nanoseconds
        return waitUntilReady(names, until: end, endsAtWakeUp: true)
    }

    /// Does the same, until a time on the monotonic clock.
    ///
    /// - Parameters:
    ///   - names: The modes.
    ///   - end: The time, in nanoseconds.
    ///   - endsAtWakeUp: Whether a wake-up ends it. If not, the run around it gets those that come meanwhile.
    /// - Returns: Whether there is something to do.
    func waitUntilReady(_ names: [Mode], until end: Int64, endsAtWakeUp: Bool) -> Bool {
        requireOwnProcess(to: "wait for")
        guard isCurrent else { Misuse.endProcessForWrongThread() }
        let ignoredWakeUps = wakeState.accept()
        var wasWoken = false
        defer {
            if wasWoken { _ = wakeState.requestWake(isRemembered: false) }
            if ignoredWakeUps { wakeState.ignore() }
        }
        while true {
            let candidates = existingModes(names)
            if wakeState.consume() {
                if endsAtWakeUp { return true }
                wasWoken = true
            }
            if candidates.contains(where: isReady) { return true }
            if end <= MonotonicClock.nanoseconds { return false }
            requireOwnProcess(to: "go on with")
            // What poll(2) looks at is a level, unlike what the modes have of it. Before the sleep is announced: who wakes the
            // loop after that writes it again.
            descriptors.present?.wake.clear()
            guard wakeState.prepareToSleep() else { continue }
            // After the announcement: a mode that is made now ends the sleep.
            guard existingModes(names).count == candidates.count else {
                wakeState.endSleep()
                continue
            }
            block(until: min(end, candidates.map(timerDeadline).min() ?? .max)) {
                if $0 { waitWithoutHarvest(for: candidates) }
            }
        }
    }

    /// Returns those of some modes that anything was ever added to, with the main dispatch queue in its place.
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

    /// Sleeps until something is ready in one of some modes, or the announced sleep is ended; may end for no reason.
    private func waitWithoutHarvest(for modes: [LoopMode]) {
        guard let pair = descriptors.present else {
            waitInSlices(servingMainQueue: modes.contains(where: hostsMainQueue))
            return
        }
        var watched = [pair.wake.rawValue, pair.timer.rawValue]
        for mode in modes {
            if let poller = mode.poller {
                watched.append(poller.epoll.rawValue)
            } else if hostsMainQueue(in: mode) {
                watched.append(mainQueueDescriptor.load(ordering: .relaxed))
            }
        }
        Readiness.wait(forAny: watched)
    }

    private func isReady(_ mode: LoopMode) -> Bool {
        if hasDueTimers(in: mode) || hasBlocks(for: mode) || hasReadyPort(mode) { return true }
        guard mode.hasSignals.load(ordering: .acquiring) else { return false }
        return lock.withLock {
            var isAnySignalled = false
            mode.sources.visitAll { isAnySignalled = isAnySignalled || $0.isSignalled }
            return isAnySignalled
        }
    }

    /// Harvests a mode's events and says whether they are of anything but the loop's own descriptors.
    private func hasReadyPort(_ mode: LoopMode) -> Bool {
        if mainQueueEventWithoutPoller(in: mode) != nil { return true }
        if mode.events.isEmpty {
            harvest(mode, blocks: false)
        }
        guard takePortEvent(in: mode) != nil else { return false }
        mode.events.putBack()
        return true
    }
}
