import LinuxSystem

/// The timers that one pass found due and has not fired yet, the next one last.
struct DueTimers {
    /// A timer that was parked, with the place in the order that it had.
    private struct Entry {
        let timer: HostRunLoop.Timer
        let slot: Int
        let key: TimerHeap<HostRunLoop.Timer>.Key
        /// Where the timer is in memory, to be asked for early.
        let address: UInt
    }

    /// A parked timer's slot and the place in the order that it had.
    fileprivate struct Place {
        let slot: Int
        let key: TimerHeap<HostRunLoop.Timer>.Key
    }

    private var mode: LoopMode?
    /// The time for which they were found.
    private(set) var limit: Int64 = 0
    private var timers: ContiguousArray<Entry> = []

    /// How far ahead memory is asked for: a miss costs as long as firing one or two timers.
    private static var distance: Int { 4 }
    /// How many are taken while the lock is held: other threads want it, too.
    private static var portion: Int { 256 }

    /// Begins a batch of a mode's timers, those before having been fired.
    fileprivate mutating func begin(in mode: LoopMode, notAfter limit: Int64) {
        self.mode = mode
        self.limit = limit
    }

    /// Parks timers that are due, and says whether that were all.
    ///
    /// Called with the loop's lock held.
    ///
    /// - Parameters:
    ///   - heap: The timers of the mode.
    ///   - places: Room for one portion.
    /// - Returns: Whether nothing that is due is left.
    fileprivate mutating func take(from heap: TimerHeap<HostRunLoop.Timer>, _ places: inout [Place]) -> Bool {
        places.removeAll(keepingCapacity: true)
        while places.count < Self.portion, let (slot, key) = heap.parkFirst(notAfter: limit) {
            places.append(Place(slot: slot, key: key))
        }
        // A second time over them: keeping an object alive writes to it, and a million timers lie all over memory.
        for index in places.indices {
            if index + Self.distance < places.count {
                Prefetch.object(at: heap.address(at: places[index + Self.distance].slot))
            }
            let place = places[index]
            guard let timer = heap.element(at: place.slot) else { continue }
            let address = heap.address(at: place.slot)
            timers.append(Entry(timer: timer, slot: place.slot, key: place.key, address: address))
        }
        return places.count < Self.portion
    }

    /// Turns them so that the first comes last, from where they are taken.
    fileprivate mutating func reverse() {
        if timers.count > 1 {
            timers.reverse()
        }
    }

    /// Returns the next timer.
    fileprivate mutating func next() -> HostRunLoop.Timer? {
        if timers.count > Self.distance {
            Prefetch.object(at: timers[timers.count - 1 - Self.distance].address)
        }
        return timers.popLast()?.timer
    }

    /// Puts them back into the order of their mode for a nested run, which fires them if it gets there first.
    ///
    /// Called with the loop's lock held. They stay in the list: one that has fired meanwhile is not due any more.
    func restore() {
        guard let mode, !timers.isEmpty else { return }
        for entry in timers where entry.timer.isParked(in: mode, slot: entry.slot) {
            mode.restore(entry.slot, to: entry.key)
        }
    }
}

/// What a loop is firing, and when it last read the clock: what was due then is due.
///
/// Touched by the loop's thread only.
struct TimerService {
    /// What the pass of the innermost run is firing.
    private var due = DueTimers()
    private var places: [DueTimers.Place] = []
    /// The last reading of the clock.
    private(set) var lastTime: Int64 = 0

    /// Reads the clock, and remembers it.
    @inline(__always)
    mutating func readClock() -> Int64 {
        let now = MonotonicClock.nanoseconds
        lastTime = now
        return now
    }

    /// A run begins: it fires timers of its own.
    ///
    /// Returns those of the run around it.
    mutating func beginRun() -> DueTimers {
        let outer = due
        due = DueTimers()
        return outer
    }

    /// A run ends: the one around it goes on firing its own.
    mutating func endRun(_ outer: DueTimers) { due = outer }

    /// Begins a batch of a mode's timers that are due at a time.
    @inline(__always)
    mutating func begin(in mode: LoopMode, notAfter limit: Int64) { due.begin(in: mode, notAfter: limit) }

    /// Parks a portion of the timers that are due, and says whether that were all.
    ///
    /// Called with the loop's lock held.
    @inline(__always)
    mutating func takePortion(of mode: LoopMode) -> Bool {
        mode.takeDueTimers { due.take(from: $0, &places) }
    }

    /// The batch is complete.
    @inline(__always)
    mutating func end() { due.reverse() }

    /// The time for which the batch was found.
    @inline(__always)
    var limit: Int64 { due.limit }

    /// Returns the next timer of the batch.
    @inline(__always)
    mutating func next() -> HostRunLoop.Timer? { due.next() }
}
