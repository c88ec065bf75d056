import LinuxSystem

/// The timers that one pass found due and has not fired yet, in reverse order.
struct DueTimers {
    /// A parked timer, with its former place in the order.
    @safe
    private struct Entry {
        /// Counted by hand, so that looking ahead and reversing count nothing: whoever takes the entry out takes the reference over.
        let timer: Unmanaged<HostRunLoop.Timer>
        let slot: Int
        let key: TimerHeap<HostRunLoop.Timer>.Key

        /// The timer's address in memory, to prefetch it.
        var address: UInt { unsafe UInt(bitPattern: timer.toOpaque()) }
    }

    /// A parked timer's slot and its former place in the order.
    fileprivate struct Place {
        let slot: Int
        let key: TimerHeap<HostRunLoop.Timer>.Key
    }

    private var mode: LoopMode?
    /// The time for which they were found.
    private(set) var limit: Int64 = 0
    private var timers: ContiguousArray<Entry> = []

    /// How far ahead memory is prefetched: a cache miss takes as long as firing one or two timers.
    private static var distance: Int { 4 }
    /// How far ahead the closure's memory is prefetched; by then the timer, which has its address, has been prefetched.
    private static var closureDistance: Int { 2 }
    /// How many are taken one by one with the lock held, because other threads need the lock, too.
    private static var portion: Int { 256 }

    /// Begins a batch of a mode's timers, after the previous batch was fired.
    fileprivate mutating func begin(in mode: LoopMode, notAfter limit: Int64) {
        self.mode = mode
        self.limit = limit
    }

    /// Parks due timers; returns whether these were all of them.
    ///
    /// Called with the loop's lock held.
    ///
    /// - Parameters:
    ///   - heap: The timers of the mode.
    ///   - places: An array with memory for one portion.
    /// - Returns: Whether no due timer is left.
    fileprivate mutating func take(from heap: TimerHeap<HostRunLoop.Timer>, _ places: inout [Place]) -> Bool {
        places.removeAll(keepingCapacity: true)
        let areAll = heap.parkAll(notAfter: limit, atMost: Self.portion) { slot, key in
            places.append(Place(slot: slot, key: key))
        }
        // A second loop over them. Retaining an object writes to it, and a million timers lie scattered in memory, so this loop
        // prefetches.
        for index in places.indices {
            if index + Self.distance < places.count {
                Prefetch.object(at: heap.address(at: places[index + Self.distance].slot))
            }
            let place = places[index]
            guard let timer = unsafe heap.retainedElement(at: place.slot) else { continue }
            unsafe timers.append(Entry(timer: timer, slot: place.slot, key: place.key))
        }
        return areAll
    }

    /// Reverses them, because the next one is taken from the end.
    fileprivate mutating func reverse() {
        if timers.count > 1 {
            timers.reverse()
        }
    }

    /// Whether all were taken.
    fileprivate var isEmpty: Bool { timers.isEmpty }

    /// Returns the next timer, with a reference that the caller must release, and its slot if it is still in the mode.
    ///
    /// Called with the loop's lock held, because it looks ahead in the mode's heap.
    @inline(__always)
    fileprivate mutating func next() -> (timer: Unmanaged<HostRunLoop.Timer>, slot: Int?)? {
        let last = timers.count - 1
        if last >= Self.distance { Prefetch.object(at: timers[last - Self.distance].address) }
        if last >= Self.closureDistance {
            let entry = timers[last - Self.closureDistance]
            unsafe entry.timer._withUnsafeGuaranteedRef { Prefetch.object(at: $0.perform.address) }
            mode?.timers.prefetch(entry.slot)
        }
        guard let entry = timers.popLast() else { return nil }
        return unsafe (entry.timer, mode?.timers.address(at: entry.slot) == entry.address ? entry.slot : nil)
    }

    /// Puts them back into the order of their mode for a nested run, which fires them if it gets to them first.
    ///
    /// Called with the loop's lock held. They stay in this list: if one has fired meanwhile, it is no longer due.
    func restore() {
        guard let mode, !timers.isEmpty else { return }
        for entry in timers {
            let isParked = unsafe entry.timer._withUnsafeGuaranteedRef { $0.isParked(in: mode, slot: entry.slot) }
            if isParked { mode.restore(entry.slot, to: entry.key) }
        }
    }
}

/// The timers that a loop is firing, and its last reading of the clock.
///
/// Timers due at that time count as due.
///
/// Touched by the loop's thread only.
struct TimerService {
    /// The timers that the pass of the innermost run is firing.
    private var due = DueTimers()
    private var places: [DueTimers.Place] = []
    /// The last reading of the clock.
    private(set) var lastTime: Int64 = 0

    /// Reads the clock and stores the time.
    @inline(__always)
    mutating func readClock() -> Int64 {
        let now = MonotonicClock.nanoseconds
        lastTime = now
        return now
    }

    /// Begins a run, which fires its own timers.
    ///
    /// Returns the timers of the run around it.
    mutating func beginRun() -> DueTimers {
        let outer = due
        due = DueTimers()
        return outer
    }

    /// Ends a run; the run around it continues to fire its own timers.
    mutating func endRun(_ outer: DueTimers) { due = outer }

    /// Begins a batch of a mode's timers that are due at a time.
    @inline(__always)
    mutating func begin(in mode: LoopMode, notAfter limit: Int64) { due.begin(in: mode, notAfter: limit) }

    /// Parks a portion of the due timers; returns whether these were all of them.
    ///
    /// Called with the loop's lock held.
    @inline(__always)
    mutating func takePortion(of mode: LoopMode) -> Bool {
        mode.takeDueTimers { due.take(from: $0, &places) }
    }

    /// Completes the batch.
    @inline(__always)
    mutating func end() { due.reverse() }

    /// The time for which the batch was found.
    @inline(__always)
    var limit: Int64 { due.limit }

    /// Whether the batch was fired.
    @inline(__always)
    var isEmpty: Bool { due.isEmpty }

    /// Returns the next timer of the batch, with a reference that the caller must release, and its slot if it is still in the mode.
    ///
    /// Called with the loop's lock held.
    @inline(__always)
    mutating func next() -> (timer: Unmanaged<HostRunLoop.Timer>, slot: Int?)? { unsafe due.next() }
}
