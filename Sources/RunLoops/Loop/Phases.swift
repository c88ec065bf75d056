import CRecoveryPoint
import LinuxSystem
import Synchronization

/// The steps of a pass for each kind of item. Every function leaves the same state, whether its callouts return or are abandoned.
extension HostRunLoop {
    // MARK: Observers

    /// Calls the observers of a stage (CFRunLoop.c:2089).
    @inline(__always)
    func notify(_ activity: Activity, in mode: LoopMode) {
        runs.reach(activity)
        if mode.observedActivities & activity.rawValue != 0 { tellObservers(of: activity, in: mode) }
    }

    @inline(never)
    private func tellObservers(of activity: Activity, in mode: LoopMode) {
        // A snapshot: an observer that is removed now is still called, one that is added or invalidated now is not.
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

    /// A signalled source with its sort key.
    @safe
    struct SignalledSource {
        /// Counted by hand, so that sorting and looking count nothing: whoever takes it out of the batch releases it.
        let reference: Unmanaged<Source>
        let order: Int
        let signalNumber: UInt64

        init(_ source: Source, signalNumber: UInt64) {
            unsafe reference = .passRetained(source)
            order = source.order
            self.signalNumber = signalNumber
        }

        func release() { unsafe reference.release() }
    }

    /// Performs the sources that are signalled now; returns whether there were any (CFRunLoop.c:2141).
    func performSources(in mode: LoopMode, stopAfterFirst: Bool) -> Bool {
        let signals = mode.takeSignals()
        guard signals != 0 else { return false }
        var batch = spareSources.take()
        lock.withLock {
            mode.sources.visit(signals) { source in
                let number = source.signalNumber
                if number != 0 {
                    batch.append(SignalledSource(source, signalNumber: number))
                }
            }
        }
        if batch.count > 1 {
            // In reverse order: they are taken from the end.
            batch.sort { ($0.order, $0.signalNumber) > ($1.order, $1.signalNumber) }
            // The rest of this batch is left to a nested run, or to the next one.
            mode.noteSignals(signals)
        }
        let isStrict = strictCF
        var handled = false
        while let next = batch.popLast() {
            let isPerformed = unsafe next.reference._withUnsafeGuaranteedRef { source -> Bool? in
                // The signal stays, for when the source is put back.
                if isWithdrawn(source) { return nil }
                // If a nested run has performed the source meanwhile, it has no signal any more.
                guard source.takeSignal() else { return false }
                callOut(to: source, in: mode)
                return true
            }
            next.release()
            guard let isPerformed else { continue }
            guard isPerformed else {
                if isStrict { handled = false }
                continue
            }
            handled = true
            if stopAfterFirst { break }
        }
        for rest in batch { rest.release() }
        batch.removeAll(keepingCapacity: true)
        spareSources.giveBack(batch)
        return handled
    }

    // MARK: Timers

    /// Fires the timers that are due now (CFRunLoop.c:2611).
    func fireTimers(in mode: LoopMode) {
        takeDueTimers(of: mode)
        while !timers.isEmpty {
            // A callout may have forked, and returned in the child.
            requireOwnProcess(to: "go on with")
            lock.lock()
            // Counted by hand: it is released once, with the lock free.
            guard let (next, slot) = unsafe timers.next() else { return lock.unlock() }
            let fired = unsafe next._withUnsafeGuaranteedRef {
                $0.beginFiring(in: self, dueAt: timers.limit, at: slot, of: mode)
            }
            lock.unlock()
            var references: UInt32 = 1
            if let fired {
                unsafe next._withUnsafeGuaranteedRef { timer in
                    callOut(to: timer, in: mode)
                    references += timer.endFiring(in: self, fired: fired)
                }
            }
            unsafe swift_release_n(next.toOpaque(), references)
        }
    }

    private func takeDueTimers(of mode: LoopMode) {
        timers.begin(in: mode, notAfter: currentTime())
        var isComplete = false
        while !isComplete {
            lock.lock()
            isComplete = timers.takePortion(of: mode)
            lock.unlock()
        }
        timers.end()
    }

    // MARK: Ports

    /// Tells a port source that its descriptor is ready; returns whether it was still there.
    func servePort(_ port: ReadyPort, in mode: LoopMode) -> Bool {
        // An `afterWaiting` observer, or another thread, may have removed it.
        guard port.source.isValid else { return false }
        if mode.portDepartures != port.departures {
            guard lock.withLock({ mode.ports.source(for: port.token) }) === port.source else { return false }
        }
        let readiness = port.readiness
        guard !readiness.isEmpty else { return false }
        callOut(to: port.source, readiness, in: mode)
        return true
    }

    /// Returns the source that a harvested event belongs to, if that is still there and still interested.
    @inline(__always)
    func readyPort(_ token: UInt64, _ events: Epoll.Events, in mode: LoopMode) -> ReadyPort? {
        lock.lock()
        let source = mode.ports.source(for: token)
        let departures = mode.portDepartures
        lock.unlock()
        guard let source, source.isValid else { return nil }
        let port = ReadyPort(source: source, token: token, events: events, departures: departures)
        return port.isReady ? port : nil
    }

    /// The same for an event that may be outdated: it asks the kernel again.
    func readyPortNow(_ token: UInt64, _ events: Epoll.Events, in mode: LoopMode) -> ReadyPort? {
        guard let port = readyPort(token, events, in: mode) else { return nil }
        return readyPort(token, Readiness.now(of: port.source.number, for: events), in: mode)
    }
}

/// An array that is kept for its memory between two uses.
///
/// If it is in use further down the stack, the caller gets a new empty array.
struct SpareArray<Element> {
    private var array: [Element] = []

    /// Takes the array, which is empty.
    @inline(__always)
    mutating func take() -> [Element] {
        let array = array
        self.array = []
        return array
    }

    /// Gives an empty array back.
    @inline(__always)
    mutating func giveBack(_ array: [Element]) { self.array = array }
}
