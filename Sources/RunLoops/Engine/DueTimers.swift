/// The timers that one pass found due and has not fired yet, the next one last.
struct DueTimers {
    /// A timer that was parked, with the place in the order that it had.
    struct Entry {
        let timer: HostRunLoop.Timer
        let slot: Int
        let key: TimerHeap<HostRunLoop.Timer>.Key
    }

    var mode: LoopMode?
    /// The time for which they were found.
    var limit: Int64 = 0
    var timers: ContiguousArray<Entry> = []

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
