import LinuxSystem
import Synchronization

/// What a pass does with each kind of item. Every function leaves the same state behind whether its callouts return or are
/// abandoned.
extension HostRunLoop {
    // MARK: Observers

    /// Calls the observers of a stage (CFRunLoop.c:2089).
    func notify(_ activity: Activity, in mode: LoopMode) {
        stage = activity
        guard mode.observedActivities.load(ordering: .acquiring) & activity.rawValue != 0 else { return }
        // A snapshot: one that is removed now is still called, one that is added now is not, one that is invalidated now
        // is not.
        let observers = lock.withLock { mode.observers }
        for observer in observers where observer.activities.contains(activity) {
            // A run that is nested in the observer's own callout does not call it again.
            guard observer.isValid, !isWithdrawn(observer), observer.beginFiring() else { continue }
            callOut(to: observer, activity, in: mode)
            if !observer.repeats {
                observer.invalidate()
            }
            observer.endFiring()
        }
    }

    // MARK: Sources

    /// A source with what it is sorted by.
    struct SignalledSource {
        let source: Source
        let signalNumber: UInt64
    }

    /// Performs the sources that are signalled now and says whether there were any (CFRunLoop.c:2141).
    func performSources(in mode: LoopMode, stopAfterFirst: Bool) -> Bool {
        guard
            mode.hasSignals.load(ordering: .relaxed),
            mode.hasSignals.exchange(false, ordering: .acquiringAndReleasing)
        else { return false }
        var batch = spareSources
        spareSources = []
        lock.withLock {
            mode.sources.visitAll { source in
                let number = source.signalNumber
                if number != 0 {
                    batch.append(SignalledSource(source: source, signalNumber: number))
                }
            }
        }
        if batch.count > 1 {
            // Last first: they are taken from the end.
            batch.sort { ($0.source.order, $0.signalNumber) > ($1.source.order, $1.signalNumber) }
            // What this batch does not get to is for a nested run, or the next one.
            mode.hasSignals.store(true, ordering: .releasing)
        }
        let isStrict = strictCF
        var handled = false
        while let next = batch.popLast() {
            // It keeps its signal, for when it is put back.
            if isWithdrawn(next.source) { continue }
            // A source that a nested run performed meanwhile has no signal any more.
            guard next.source.takeSignal() else {
                if isStrict { handled = false }
                continue
            }
            callOut(to: next.source, in: mode)
            handled = true
            if stopAfterFirst { break }
        }
        batch.removeAll(keepingCapacity: true)
        spareSources = batch
        return handled
    }

    // MARK: Timers

    /// Fires the timers that are due now (CFRunLoop.c:2611).
    func fireTimers(in mode: LoopMode) {
        takeDueTimers(of: mode)
        while let timer = dueTimers.next() {
            guard let fired = lock.withLock({ timer.beginFiring(in: self, dueAt: dueTimers.limit) }) else { continue }
            callOut(to: timer, in: mode)
            timer.endFiring(fired: fired)
        }
    }

    private func takeDueTimers(of mode: LoopMode) {
        dueTimers.mode = mode
        dueTimers.limit = currentTime()
        var isComplete = false
        while !isComplete {
            lock.lock()
            isComplete = dueTimers.take(from: mode.timers, &sparePlaces)
            mode.timersChanged()
            lock.unlock()
        }
        dueTimers.reverse()
    }

    // MARK: Ports

    /// Tells a port source that its descriptor is ready, and says whether it was still there.
    func servePort(_ port: ReadyPort, in mode: LoopMode) -> Bool {
        // An `afterWaiting` observer, or another thread, may have removed it.
        guard port.source.isValid else { return false }
        if mode.portDepartures.load(ordering: .acquiring) != port.departures {
            guard lock.withLock({ mode.ports.source(for: port.token) }) === port.source else { return false }
        }
        let readiness = port.readiness
        guard !readiness.isEmpty else { return false }
        callOut(to: port.source, readiness, in: mode)
        return true
    }

    /// Returns the source that a harvested event belongs to, if that is still there and still interested.
    func readyPort(_ token: UInt64, _ events: Epoll.Events, in mode: LoopMode) -> ReadyPort? {
        lock.lock()
        let source = mode.ports.source(for: token)
        let departures = mode.portDepartures.load(ordering: .relaxed)
        lock.unlock()
        guard let source, source.isValid else { return nil }
        let port = ReadyPort(source: source, token: token, events: events, departures: departures)
        return port.readiness.isEmpty ? nil : port
    }

    /// The same, for an event that may be old news: asks the kernel again.
    func readyPortNow(_ token: UInt64, _ events: Epoll.Events, in mode: LoopMode) -> ReadyPort? {
        guard let port = readyPort(token, events, in: mode) else { return nil }
        return readyPort(token, Readiness.now(of: port.source.descriptor, for: events), in: mode)
    }

    // MARK: The main dispatch queue

    /// Says whether the main dispatch queue is served in a mode now (CFRunLoop.c:2948).
    ///
    /// Not from inside its own callout: draining is not re-entrant.
    func hostsMainQueue(in mode: LoopMode) -> Bool {
        guard isMain, mainQueueDescriptor.load(ordering: .acquiring) >= 0 else { return false }
        guard !isInMainQueueCallout.load(ordering: .acquiring) else { return false }
        return lock.withLock { commonModes.contains(mode.name) }
    }

    /// Says whether the next run in a mode would make the main dispatch queue this loop's, and serve it there.
    func willHostMainQueue(in mode: LoopMode) -> Bool {
        guard isMain, madeAtFork == 0, mainQueueDescriptor.load(ordering: .acquiring) < 0 else { return false }
        return MainDispatchQueue.isPresent && lock.withLock { commonModes.contains(mode.name) }
    }

    /// Whether the main dispatch queue has work.
    var isMainQueueReady: Bool {
        !Readiness.now(of: mainQueueDescriptor.load(ordering: .relaxed), for: .readable).isEmpty
    }

    /// Makes the main dispatch queue's descriptor end a mode's waits exactly while it may be served there.
    func prepareMainQueue(for mode: LoopMode) {
        // After a fork without exec, libdispatch is that of the parent.
        guard isMain, madeAtFork == 0 else { return }
        if mainQueueDescriptor.load(ordering: .relaxed) < 0 {
            // libdispatch ends the process where it gets no eventfd; the next run tries again.
            guard MainDispatchQueue.isPresent, hasDescriptorLeft else { return }
            guard let descriptor = MainDispatchQueue.handle() else { return }
            mainQueueDescriptor.store(descriptor, ordering: .releasing)
        }
        let descriptor = mainQueueDescriptor.load(ordering: .relaxed)
        let isWanted = hostsMainQueue(in: mode)
        // Without an epoll instance, the waits in the mode look at the descriptor by themselves.
        guard isWanted != mode.watchesMainQueue, let poller = mode.poller else { return }
        do {
            if isWanted {
                try poller.epoll.add(descriptor, events: .readable, token: PortTable.mainQueueToken)
                mode.descriptorCount.add(1, ordering: .releasing)
            } else {
                try poller.epoll.remove(descriptor)
                mode.descriptorCount.subtract(1, ordering: .releasing)
            }
        } catch {
            preconditionFailure("the main dispatch queue's descriptor cannot be watched: \(error)")
        }
        mode.watchesMainQueue = isWanted
    }

    private var hasDescriptorLeft: Bool {
        do {
            _ = try EventDescriptor()
            return true
        } catch {
            return false
        }
    }

    /// Drains the main dispatch queue.
    func serveMainQueue(in mode: LoopMode) {
        EventDescriptor.clear(mainQueueDescriptor.load(ordering: .relaxed))
        isInMainQueueCallout.store(true, ordering: .releasing)
        callOutToMainQueue(in: mode)
        isInMainQueueCallout.store(false, ordering: .releasing)
        // A run that was nested in the callout took it out of its mode.
        prepareMainQueue(for: mode)
    }
}
