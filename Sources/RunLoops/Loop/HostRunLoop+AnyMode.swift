import LinuxSystem
import Synchronization

/// The parent epoll instance of a loop: it is ready when that of any enrolled mode is.
///
/// Touched by the loop's thread only.
final class SweepPoller {
    private let epoll: Epoll
    private var events = EventQueue()
    private var enrolled: [LoopMode] = []

    init() {
        do {
            epoll = try Epoll()
        } catch {
            fatalError("no epoll instance for all modes of a run loop: \(error)")
        }
    }

    /// Enrols exactly these modes.
    func enrol(_ modes: [LoopMode]) {
        guard !modes.elementsEqual(enrolled, by: ===) else { return }
        do {
            for mode in enrolled where !modes.contains(where: { $0 === mode }) {
                try epoll.remove(mode.epoll.rawValue)
            }
            for mode in modes where !enrolled.contains(where: { $0 === mode }) {
                try epoll.add(mode.epoll.rawValue, events: .readable, token: 0)
            }
        } catch {
            fatalError("a run loop mode cannot be waited for: \(error)")
        }
        enrolled = modes
    }

    /// Waits until one of the modes has something, and says whether it has.
    func wait(blocks: Bool) -> Bool {
        epoll.wait(into: &events, blocks: blocks)
        return !events.isEmpty
    }
}

extension HostRunLoop {
    /// Sleeps until a run in one of some modes would have something to do, or the loop is woken.
    ///
    /// That is a port that is ready, a timer that is due, a source that is signalled or a block that is queued. Serves
    /// nothing and calls no observer. To be called on the loop's own thread, between runs.
    ///
    /// - Parameters:
    ///   - names: The modes; `.common` and modes that do not exist are left out.
    ///   - limit: How long at most; zero or less does not wait.
    /// - Returns: Whether there is something to do; `false` when the time was over.
    public func waitUntilAnyModeIsReady(_ names: [Mode], for limit: Duration) -> Bool {
        requireOwnProcess(to: "wait for")
        guard isCurrent else { Misuse.endProcessForWrongThread() }
        let candidates = lock.withLock { () -> [LoopMode] in
            var seen: Set<Mode> = [.common]
            return names.compactMap { seen.insert($0).inserted ? modes[$0] : nil }
        }
        let end = limit <= .zero ? .min : Instant.now.advanced(by: limit).nanoseconds
        for mode in candidates {
            prepareMainQueue(for: mode)
        }
        let poller = sweepPoller ?? SweepPoller()
        sweepPoller = poller
        poller.enrol(candidates)

        let ignoredWakeUps = wakeState.accept()
        defer {
            if ignoredWakeUps { wakeState.ignore() }
        }
        while true {
            if wakeState.consume() || candidates.contains(where: isReady) { return true }
            if end <= MonotonicClock.nanoseconds {
                // One look into the kernel all the same: a descriptor may be ready.
                return poller.wait(blocks: false) && candidates.contains(where: hasReadyPort)
            }
            guard wakeState.prepareToSleep() else { continue }
            var hasEvents = false
            block(until: min(end, candidates.map(timerDeadline).min() ?? .max)) {
                hasEvents = poller.wait(blocks: $0)
            }
            // The loop's own descriptors alone are no work.
            if hasEvents && candidates.contains(where: hasReadyPort) { return true }
        }
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
        if mode.events.isEmpty {
            harvest(mode, blocks: false)
        }
        guard takePortEvent(in: mode) != nil else { return false }
        mode.events.putBack()
        return true
    }
}
