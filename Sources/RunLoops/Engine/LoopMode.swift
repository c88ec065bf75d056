import LinuxSystem
import Synchronization
import SystemPackage

/// The state of one mode of one loop: its items, and the epoll instance in which the loop sleeps when it runs in the mode.
///
/// If the process has no descriptor left for the instance, a mode without ports works without it.
///
/// A mode is never destroyed before its loop, as in CFRunLoop (CFRunLoop.c:845).
final class LoopMode: @unchecked Sendable {
    let name: HostRunLoop.Mode
    let cName: CName
    /// How many modes the loop had before this one.
    let number: Int
    private let descriptors: SleepDescriptors
    private let latePoller: Late<ModePoller>

    // Protected by the loop's lock, so the runtime's own checks of exclusive access would find nothing.
    @safe @exclusivity(unchecked) private(set) var sources = SlotTable<HostRunLoop.Source>()
    @safe @exclusivity(unchecked) private(set) var ports = PortTable()
    /// Changed only by methods of the mode, which publish the earliest deadline.
    let timers = TimerHeap<HostRunLoop.Timer>()
    /// Whether the mode ever had a timer with a tolerance.
    @safe @exclusivity(unchecked) private var hasTolerantTimers = false
    /// Sorted by order; observers with equal orders in the order of adding.
    ///
    /// Copied on write, so a snapshot costs only a retain.
    @safe @exclusivity(unchecked) private(set) var observers: [HostRunLoop.Observer] = []

    // Written with the loop's lock held, read by its thread without it.
    private let items = Atomic<Int>(0)
    private let earliestDeadline = Atomic<Int64>(.max)
    private let observed = Atomic<UInt32>(0)
    private let departures = Atomic<Int>(0)
    private let watchedDescriptors = Atomic<Int>(0)

    /// Written by the loop's thread.
    private let runWasAskedFor = Atomic<Bool>(false)
    /// Set by any thread, cleared by the loop's thread.
    ///
    /// A bit stands for the sources in every 64th slot, so that a pass looks at few of many.
    private let signalled = Atomic<UInt64>(0)

    // Touched by the loop's thread only.
    /// Events that were harvested from the epoll instance and not served yet.
    @safe @exclusivity(unchecked) private var events = EventQueue()
    /// The run that harvested the events, counted over the life of the loop.
    @safe @exclusivity(unchecked) private var harvestedInRun: UInt64 = 0
    /// The kind that was served last, of those that take turns.
    ///
    /// Each mode has its own: the turns continue across runs of one pass that follow each other, and in the run around a nested
    /// one.
    @safe @exclusivity(unchecked) private(set) var lastTurn = LoopEvent.Turn.ports
    /// Whether the main dispatch queue's descriptor is in the epoll instance.
    @safe @exclusivity(unchecked) private(set) var watchesMainQueue = false

    /// Makes a mode without items.
    init(name: HostRunLoop.Mode, number: Int, _ descriptors: SleepDescriptors) {
        self.name = name
        self.number = number
        self.descriptors = descriptors
        cName = CName.interned(name.rawValue)
        latePoller = Late { () throws(Errno) in try ModePoller(descriptors) }
    }

    // MARK: The epoll instance

    /// The epoll instance for the mode's descriptors.
    ///
    /// It is `nil` while the process has no descriptor left for it; then the mode has no ports.
    @inline(__always)
    var poller: ModePoller? { latePoller.value }

    /// Whether there is an epoll instance.
    @inline(__always)
    var hasPoller: Bool { latePoller.exists }

    /// Returns the epoll instance; makes it now if that was not possible before.
    func requiredPoller() throws(Errno) -> ModePoller {
        let descriptors = descriptors
        return try latePoller.required { () throws(Errno) in try ModePoller(descriptors) }
    }

    /// How many descriptors the epoll instance watches, apart from the loop's own.
    var descriptorCount: Int { watchedDescriptors.load(ordering: .acquiring) }

    // MARK: Whether the mode is empty

    /// How many items keep the mode from being empty: sources, port sources and timers.
    var itemCount: Int { items.load(ordering: .relaxed) }

    /// Counts an item that has entered.
    ///
    /// Called with the loop's lock held.
    @inline(__always)
    func countEntry() { items.store(items.load(ordering: .relaxed) + 1, ordering: .relaxed) }

    /// Counts an item that has left.
    ///
    /// Called with the loop's lock held.
    @inline(__always)
    func countDeparture() { items.store(items.load(ordering: .relaxed) - 1, ordering: .relaxed) }

    /// Calls `body` with every item: sources, ports, timers, observers.
    ///
    /// Called with the loop's lock held.
    func visitItems(_ body: (any LoopItem) -> Void) {
        sources.visitAll(body)
        ports.visitAll(body)
        timers.visitAll(body)
        for observer in observers { body(observer) }
    }

    /// Whether a run in the mode was ever asked for, even while it was empty.
    var wasRun: Bool { runWasAskedFor.load(ordering: .relaxed) }

    /// Records that a run in the mode was asked for.
    ///
    /// Called on the loop's thread.
    func noteRun() { runWasAskedFor.store(true, ordering: .relaxed) }

    // MARK: Sources, with the loop's lock held

    /// Adds a source and returns its slot.
    func insert(_ source: HostRunLoop.Source) -> Int { sources.insert(source) }

    /// Removes the source in a slot.
    func removeSource(at slot: Int) { _ = sources.remove(at: slot) }

    // MARK: Signals, on any thread

    /// Whether the mode may have a signalled source that no pass has looked at yet.
    var hasSignals: Bool { signals != 0 }

    /// The groups of sources of which one may be signalled.
    var signals: UInt64 { signalled.load(ordering: .acquiring) }

    /// Records that a source is signalled, or that a pass did not look at it although it is.
    @inline(__always)
    func noteSignal(at slot: Int) {
        _ = signalled.bitwiseOr(1 << UInt64(truncatingIfNeeded: slot & 63), ordering: .acquiringAndReleasing)
    }

    /// Records that a pass did not look at all sources of these groups.
    func noteSignals(_ groups: UInt64) { _ = signalled.bitwiseOr(groups, ordering: .acquiringAndReleasing) }

    /// Returns the groups of sources of which one may be signalled, and resets that.
    ///
    /// The caller must look at all sources of these groups.
    ///
    /// Called on the loop's thread.
    @inline(__always)
    func takeSignals() -> UInt64 {
        signalled.load(ordering: .relaxed) == 0 ? 0 : signalled.exchange(0, ordering: .acquiringAndReleasing)
    }

    // MARK: Ports, with the loop's lock held

    /// Adds a port source, whose descriptor the kernel watches from now on, and returns its slot.
    func insert(_ port: HostRunLoop.PortSource, events: Epoll.Events) throws(RunLoopError) -> Int {
        let poller: ModePoller
        do throws(Errno) {
            poller = try requiredPoller()
        } catch {
            throw RunLoopError(code: .noResources, underlyingError: error)
        }
        let descriptor = port.number
        let slot = ports.insert(port)
        do {
            try poller.epoll.add(descriptor, events: events, token: ports.token(of: slot))
            if events.isEmpty {
                try poller.epoll.remove(descriptor)
            }
        } catch {
            _ = ports.remove(slot: slot, descriptor: descriptor)
            throw RunLoopError(addingDescriptor: error)
        }
        ports.claim(descriptor, for: slot)
        watchedDescriptors.add(1, ordering: .releasing)
        return slot
    }

    /// Removes the port source in a slot; events that were already harvested for it are dropped.
    func removePort(at slot: Int, descriptor: CInt) {
        watchedDescriptors.subtract(1, ordering: .releasing)
        departures.add(1, ordering: .releasing)
        if ports.remove(slot: slot, descriptor: descriptor) {
            // ENOENT or EBADF: the interest was empty, or somebody else closed the descriptor.
            try? poller?.epoll.remove(descriptor)
        }
    }

    /// Changes the events for which the kernel watches the descriptor of a slot.
    func watchPort(at slot: Int, descriptor: CInt, for events: Epoll.Events) {
        guard ports.owns(descriptor, slot: slot), let poller else { return }
        let token = ports.token(of: slot)
        // An error means that somebody else closed the descriptor: then there is nothing to wait for.
        if events.isEmpty {
            try? poller.epoll.remove(descriptor)
            return
        }
        do {
            try poller.epoll.modify(descriptor, events: events, token: token)
        } catch {
            try? poller.epoll.add(descriptor, events: events, token: token)
        }
    }

    /// How many port sources have left the mode in its life; readable without the lock.
    var portDepartures: Int { departures.load(ordering: .acquiring) }

    // MARK: Observers

    /// Adds an observer.
    ///
    /// Called with the loop's lock held.
    func insert(_ observer: HostRunLoop.Observer) {
        let place = observers.firstIndex { $0.order > observer.order } ?? observers.count
        observers.insert(observer, at: place)
        observed.bitwiseOr(observer.activities.rawValue, ordering: .releasing)
    }

    /// Removes an observer.
    ///
    /// Called with the loop's lock held.
    func remove(_ observer: HostRunLoop.Observer) {
        observers.removeAll { $0 === observer }
    }

    /// All activities that any observer of the mode ever asked for.
    var observedActivities: UInt32 { observed.load(ordering: .acquiring) }

    // MARK: Timers, with the loop's lock held

    /// Adds an unscheduled timer and returns its slot.
    func insert(_ timer: HostRunLoop.Timer) -> Int { timers.insertParked(timer) }

    /// Adds a timer that fires at a time, or at `latest` at the latest, and returns its slot.
    @inline(__always)
    func insert(_ timer: HostRunLoop.Timer, at time: Int64, latest: Int64) -> Int {
        let slot = timers.insert(timer, at: time, latest: latest)
        publishDeadline()
        return slot
    }

    /// Removes the timer in a slot; if asked to, the reference to it is not released, but left to the caller.
    @inline(__always)
    func removeTimer(at slot: Int, leavingReference: Bool) {
        if leavingReference { timers.leaveReference(to: slot) }
        timers.remove(slot)
        publishDeadline()
    }

    /// Schedules the timer in a slot; `latest` is the latest time at which it should fire.
    func schedule(_ slot: Int, at time: Int64, latest: Int64) {
        timers.schedule(slot, at: time, latest: latest)
        publishDeadline()
    }

    /// Takes the timer in a slot out of the order.
    func park(_ slot: Int) {
        timers.park(slot)
        publishDeadline()
    }

    /// Puts a parked timer back at its old place in the order.
    func restore(_ slot: Int, to key: TimerHeap<HostRunLoop.Timer>.Key) {
        timers.restore(slot, to: key)
        publishDeadline()
    }

    /// Parks a portion of the due timers; returns whether these were all of them.
    func takeDueTimers(_ take: (TimerHeap<HostRunLoop.Timer>) -> Bool) -> Bool {
        defer { publishDeadline() }
        return take(timers)
    }

    /// Records that the mode has a timer with a tolerance.
    func noteTolerance() { hasTolerantTimers = true }

    /// Publishes the earliest deadline, after every change of `timers`.
    @inline(__always)
    private func publishDeadline() {
        let deadline = timers.earliestDeadline ?? .max
        guard deadline != earliestDeadline.load(ordering: .relaxed) else { return }
        earliestDeadline.store(deadline, ordering: .sequentiallyConsistent)
    }

    /// The time at which a sleep must end for the timers.
    ///
    /// This is the last fire date at which no timer is later than its tolerance allows, but never beyond the 64th timer that shares
    /// it. (CFRunLoop.c:2380 arms its kernel timer for the whole window between the two.) `Int64.max` for never.
    var coalescedDeadline: Int64 {
        (hasTolerantTimers ? timers.sharedDeadline : timers.earliestDeadline) ?? .max
    }

    // MARK: The published deadline, on the loop's thread without the lock

    /// The deadline of the earliest timer that is not firing; `Int64.max` if there is none.
    @inline(__always)
    var nextDeadline: Int64 { earliestDeadline.load(ordering: .relaxed) }

    /// The same, read after announcing a sleep: a thread that brings a deadline forward from now on sees the announcement.
    var nextDeadlineOfSleeper: Int64 { earliestDeadline.load(ordering: .sequentiallyConsistent) }

    // MARK: Events, on the loop's thread

    /// Asks the kernel for events after all earlier ones were taken; returns `false` if there is no epoll instance.
    func harvest(inRun run: UInt64, blocks: Bool) -> Bool {
        harvestedInRun = run
        return latePoller.with { $0.epoll.wait(into: &events, blocks: blocks) } != nil
    }

    /// Whether the remaining events were harvested in a run.
    ///
    /// Between two runs anything can have happened to a descriptor.
    func isNews(inRun run: UInt64) -> Bool { harvestedInRun == run }

    /// Whether all harvested events were taken.
    var hasNoEvents: Bool { events.isEmpty }

    /// Takes the next harvested event.
    @inline(__always)
    func nextEvent() -> (token: UInt64, events: Epoll.Events)? {
        guard let (token, events) = events.next() else { return nil }
        return (token, events)
    }

    /// Puts back the event that was taken last.
    func putBackEvent() { events.putBack() }

    /// Records the kind that is served now, of those that take turns.
    @inline(__always)
    func noteTurn(_ turn: LoopEvent.Turn) { lastTurn = turn }

    /// Starts or stops watching the main dispatch queue's descriptor in the mode's waits.
    ///
    /// Without an epoll instance this does nothing: waits then check the descriptor themselves.
    func watchMainQueue(_ descriptor: CInt, _ isWanted: Bool) {
        guard isWanted != watchesMainQueue, let poller else { return }
        do {
            if isWanted {
                try poller.epoll.add(descriptor, events: .readable, token: PortTable.mainQueueToken)
                watchedDescriptors.add(1, ordering: .releasing)
            } else {
                try poller.epoll.remove(descriptor)
                watchedDescriptors.subtract(1, ordering: .releasing)
            }
        } catch {
            preconditionFailure("the main dispatch queue's descriptor cannot be watched: \(error)")
        }
        watchesMainQueue = isWanted
    }

    // MARK: Damage

    /// Defects that the check of the invariants must detect.
    enum Damage {
        case itemCount
        case descriptorCount
        case deadline(Int64)
        case lostObserver
        case lostSource
        case observerOrder
        case observedActivities
    }

    /// Breaks the mode on purpose; `InvariantTests` uses it to prove that the check detects defects.
    func damage(_ damage: Damage) {
        switch damage {
        case .itemCount: countEntry()
        case .descriptorCount: watchedDescriptors.subtract(1, ordering: .relaxed)
        case .deadline(let deadline): earliestDeadline.store(deadline, ordering: .relaxed)
        case .lostObserver: observers.removeLast()
        case .lostSource: removeSource(at: 0)
        case .observerOrder: observers.swapAt(0, observers.count - 1)
        case .observedActivities: observed.store(0, ordering: .relaxed)
        }
    }
}
