import LinuxSystem

/// The timers that one pass found due and has not fired yet, the next one last.
struct DueTimers {
    /// A timer that was parked, with the place in the order that it had.
    struct Entry {
        let timer: HostRunLoop.Timer
        let slot: Int
        let key: TimerHeap<HostRunLoop.Timer>.Key
        /// Where the timer is in memory, to be asked for early.
        let address: UInt
    }

    var mode: LoopMode?
    /// The time for which they were found.
    var limit: Int64 = 0
    private var timers: ContiguousArray<Entry> = []

    /// How far ahead memory is asked for: a miss costs as long as firing one or two timers.
    private static var distance: Int { 4 }
    /// How many are taken while the lock is held: other threads want it, too.
    private static var portion: Int { 256 }

    /// Parks timers that are due, and says whether that were all.
    ///
    /// Called with the loop's lock held.
    ///
    /// - Parameters:
    ///   - heap: The timers of the mode.
    ///   - places: Room for one portion.
    /// - Returns: Whether nothing that is due is left.
    mutating func take(from heap: TimerHeap<HostRunLoop.Timer>, _ places: inout [Place]) -> Bool {
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

    /// A parked timer's slot and the place in the order that it had.
    struct Place {
        let slot: Int
        let key: TimerHeap<HostRunLoop.Timer>.Key
    }

    /// Turns them so that the first comes last, from where they are taken.
    mutating func reverse() {
        if timers.count > 1 {
            timers.reverse()
        }
    }

    /// Returns the next timer.
    mutating func next() -> HostRunLoop.Timer? {
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
            mode.timers.restore(entry.slot, to: entry.key)
        }
        mode.timersChanged()
    }
}
