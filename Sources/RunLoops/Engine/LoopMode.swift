import LinuxSystem
import Synchronization
import SystemPackage

/// What one loop knows of one mode: its items, and the epoll instance in which the loop sleeps when it runs in the mode.
///
/// A mode without descriptors to wait for can do without the instance, when the process has no descriptor left for one.
///
/// Never destroyed before the loop, as in CFRunLoop (CFRunLoop.c:845).
final class LoopMode: @unchecked Sendable {
    let name: HostRunLoop.Mode
    let cName: CName
    /// How many modes the loop had before.
    let number: Int
    private let descriptors: SleepDescriptors
    private let latePoller: Late<ModePoller>

    // Protected by the loop's lock: the runtime's own checks of exclusive access would find nothing.
    @safe @exclusivity(unchecked) var sources = SlotTable<HostRunLoop.Source>()
    @safe @exclusivity(unchecked) var ports = PortTable()
    let timers = TimerHeap<HostRunLoop.Timer>()
    /// Whether a timer with a tolerance was ever here.
    @safe @exclusivity(unchecked) var hasTolerantTimers = false
    /// By order, equal orders in the order of adding.
    ///
    /// Copied on write, so that a snapshot costs a retain.
    @safe @exclusivity(unchecked) var observers: [HostRunLoop.Observer] = []

    // Written under the loop's lock, read by its thread without.
    /// How many items keep the mode from being empty: sources, port sources and timers.
    let itemCount = Atomic<Int>(0)
    /// The deadline of the earliest timer that is not firing; `Int64.max` for none.
    let nextDeadline = Atomic<Int64>(.max)
    /// All activities that any observer has ever wanted here.
    let observedActivities = Atomic<UInt32>(0)
    /// How many port sources have left, in the life of the mode.
    let portDepartures = Atomic<Int>(0)
    /// How many descriptors the epoll instance holds, apart from the loop's own.
    let descriptorCount = Atomic<Int>(0)

    /// Whether a run in it was asked for, maybe while it was empty: written by the loop's thread.
    let wasRun = Atomic<Bool>(false)

    /// Whether a source may be signalled that was not looked at since: set by any thread, cleared by the loop's.
    let hasSignals = Atomic<Bool>(false)

    // Only touched by the loop's thread.
    /// What was harvested from the epoll instance and not served yet.
    @safe @exclusivity(unchecked) var events = EventQueue()
    /// What was served last, of the kinds that take turns.
    ///
    /// A mode's own: runs of one pass that follow each other go on taking turns, and so does the run around a nested one.
    @safe @exclusivity(unchecked) var lastTurn = LoopEvent.Turn.ports
    /// The run, counted over the life of the loop, in which that was.
    @safe @exclusivity(unchecked) var harvestedInRun: UInt64 = 0
    /// Whether the main dispatch queue's descriptor is in the epoll instance.
    @safe @exclusivity(unchecked) var watchesMainQueue = false

    /// Makes a mode without items.
    init(name: HostRunLoop.Mode, number: Int, _ descriptors: SleepDescriptors) {
        self.name = name
        self.number = number
        self.descriptors = descriptors
        cName = CName.interned(name.rawValue)
        latePoller = Late { () throws(Errno) in try ModePoller(descriptors) }
    }

    /// What waits for the mode's descriptors; `nil` while the process has no descriptor left for it, and then there are none.
    @inline(__always)
    var poller: ModePoller? { latePoller.value }

    /// Returns what waits for the mode's descriptors, made now if that was not possible before.
    func requiredPoller() throws(Errno) -> ModePoller {
        let descriptors = descriptors
        return try latePoller.required { () throws(Errno) in try ModePoller(descriptors) }
    }

    /// Publishes the earliest deadline.
    ///
    /// Called with the loop's lock held, after every change of `timers`.
    @inline(__always)
    func timersChanged() {
        let deadline = timers.earliestDeadline ?? .max
        guard deadline != nextDeadline.load(ordering: .relaxed) else { return }
        nextDeadline.store(deadline, ordering: .sequentiallyConsistent)
    }

    /// The time at which a sleep must end for the timers: the last fire date that makes none of them later than its
    /// tolerance allows (CFRunLoop.c:2380 arms its kernel timer for the whole window between the two), or that of the 64th.
    ///
    /// Called with the loop's lock held. `Int64.max` for never.
    var coalescedDeadline: Int64 {
        (hasTolerantTimers ? timers.sharedDeadline : timers.earliestDeadline) ?? .max
    }
}
