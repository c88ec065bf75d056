/// The slots whose records wait for their reports.
///
/// A pure state machine. If a disk stands still for seconds, it holds up the report writer, and one bug may fault hundreds of times
/// meanwhile. So while many records wait, equal ones share a slot.
struct RecordBacklog {
    /// A slot whose fault is to be counted in another's record, and freed.
    struct Fold: Equatable {
        var slot: UInt32
        var other: UInt32
    }

    /// How many wait before equal ones are searched: more than have a report each anyway (`ReportFolding`).
    static let roomy = 64
    /// How many reports are written in one go; a record that is being written shares its slot with none.
    static let batch = 64

    private var slots: [UInt32] = []
    /// Slots that came and were not compared yet: mostly the last one, whose thread still reads it.
    private var arrivals: [UInt32] = []
    /// Slots that wait, by the key of equal faults.
    private var sharers: [Int: UInt32] = [:]

    /// Makes an empty one, with room for all slots: `append` allocates nothing.
    init() {
        slots.reserveCapacity(256)
        // Done once beforehand, because -Onone builds make witness tables at first use, which allocates.
        if append(0) { slots.removeAll(keepingCapacity: true) }
    }

    /// How many wait.
    var count: Int { slots.count + arrivals.count }

    /// Adds a record if few wait; returns whether it did.
    ///
    /// Allocates nothing: another thread may fault with the heap locked meanwhile.
    mutating func append(_ slot: UInt32) -> Bool {
        guard arrivals.count == 0, slots.count < Self.roomy else { return false }
        slots.append(slot)
        return true
    }

    /// Adds a record, and compares those that came before.
    ///
    /// - Parameters:
    ///   - slot: Its slot.
    ///   - isParked: Whether the thread that faulted still reads the record in a slot.
    ///   - key: The key of the fault in a slot, which equal faults share; nil if it is not known.
    /// - Returns: The folds that the caller must carry out before anybody else looks.
    mutating func add(_ slot: UInt32, isParked: (UInt32) -> Bool, key: (UInt32) -> Int?) -> [Fold] {
        var folds: [Fold] = []
        var left: [UInt32] = []
        for slot in arrivals + [slot] {
            if slots.count < Self.roomy {
                slots.append(slot)
            } else if isParked(slot) {
                left.append(slot)
            } else if let key = key(slot) {
                if let other = sharers[key] {
                    folds.append(Fold(slot: slot, other: other))
                } else {
                    sharers[key] = slot
                    slots.append(slot)
                }
            } else {
                slots.append(slot)
            }
        }
        arrivals = left
        return folds
    }

    /// Takes the slots that have waited longest, to write their reports.
    ///
    /// - Parameter most: How many at most.
    /// - Returns: No more than `batch`.
    mutating func take(_ most: Int = batch) -> [UInt32] {
        slots += arrivals
        arrivals = []
        let taken = Array(slots.prefix(min(most, Self.batch)))
        slots.removeFirst(taken.count)
        let isTaken = Set(taken)
        sharers = sharers.filter { !isTaken.contains($0.value) }
        return taken
    }

    /// Puts slots back whose reports could not be written: they are next, and share a slot, too, if many wait.
    ///
    /// - Parameters:
    ///   - failed: The slots.
    ///   - isParked: As for `add`.
    ///   - key: As for `add`.
    /// - Returns: The folds that the caller must carry out before anybody else looks.
    mutating func putBack(_ failed: [UInt32], isParked: (UInt32) -> Bool, key: (UInt32) -> Int?) -> [Fold] {
        guard failed.count + count > Self.roomy else {
            slots.insert(contentsOf: failed, at: 0)
            return []
        }
        var folds: [Fold] = []
        var kept: [UInt32] = []
        var keptByKey: [Int: UInt32] = [:]
        for slot in failed {
            guard let key = key(slot), !isParked(slot) else {
                kept.append(slot)
                continue
            }
            if let other = keptByKey[key] {
                folds.append(Fold(slot: slot, other: other))
                continue
            }
            // A slot that came meanwhile and was compared is not parked.
            if let later = sharers[key] {
                folds.append(Fold(slot: later, other: slot))
                slots.removeAll { $0 == later }
            }
            keptByKey[key] = slot
            sharers[key] = slot
            kept.append(slot)
        }
        slots.insert(contentsOf: kept, at: 0)
        return folds
    }
}
