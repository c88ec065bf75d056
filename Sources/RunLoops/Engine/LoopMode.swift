import LinuxSystem
import Synchronization

/// What one loop knows of one mode: its items, and the epoll instance in which the loop sleeps when it runs in the mode.
///
/// Never destroyed before the loop, as in CFRunLoop (CFRunLoop.c:845).
final class LoopMode: @unchecked Sendable {
    let name: HostRunLoop.Mode
    let cName: CName
    let epoll: Epoll

    // Protected by the loop's lock.
    var sources = SlotTable<HostRunLoop.Source>()
    var ports = PortTable()
    var timers = TimerHeap<HostRunLoop.Timer>()
    /// By order, equal orders in the order of adding.
    ///
    /// Copied on write, so that a snapshot costs a retain.
    var observers: [HostRunLoop.Observer] = []

    // Written under the loop's lock, read by its thread without.
    /// How many items keep the mode from being empty: sources, port sources and timers.
    let itemCount = Atomic<Int>(0)
    /// The deadline of the earliest timer that is not firing; `Int64.max` for none.
    let nextDeadline = Atomic<Int64>(.max)
    /// All activities that any observer has ever wanted here.
    let observedActivities = Atomic<UInt32>(0)
    /// How many descriptors the epoll instance holds, apart from the loop's own.
    let descriptorCount = Atomic<Int>(0)

    /// Whether a source may be signalled that was not looked at since: set by any thread, cleared by the loop's.
    let hasSignals = Atomic<Bool>(false)

    // Only touched by the loop's thread.
    /// What was harvested from the epoll instance and not served yet.
    var events = EventQueue()
    /// The run, counted over the life of the loop, in which that was.
    var harvestedInRun: UInt64 = 0
    /// Whether the main dispatch queue's descriptor is in the epoll instance.
    var watchesMainQueue = false

    /// Makes a mode without items.
    init(name: HostRunLoop.Mode, wakeDescriptor: CInt) {
        self.name = name
        cName = CName.interned(name.rawValue)
        do {
            epoll = try Epoll()
            try epoll.add(wakeDescriptor, events: .readable, token: PortTable.wakeToken)
        } catch {
            // A loop without it could never wake up: as fatal as it is for CFRunLoop.
            fatalError("no epoll instance for the run loop mode \(name): \(error)")
        }
    }

    /// Publishes the earliest deadline.
    ///
    /// Called with the loop's lock held, after every change of `timers`.
    ///
    /// - Returns: Whether it became earlier.
    @discardableResult
    func timersChanged() -> Bool {
        let deadline = timers.earliestDeadline ?? .max
        let old = nextDeadline.exchange(deadline, ordering: .sequentiallyConsistent)
        return deadline < old
    }
}
