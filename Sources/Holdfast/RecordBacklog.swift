/// The slots whose records wait for their reports.
///
/// A pure state machine. A disk that stands still for seconds holds up the report writer, and one bug may fault hundreds of times
/// meanwhile: so where many records wait, equal ones share a slot.
struct RecordBacklog {
    /// A slot whose fault is to be counted in another's record, and freed.
    struct Fold: Equatable {
        var slot: UInt32
        var other: UInt32
    }

    /// How many wait before equal ones are looked for: more than have a report each anyway (`ReportFolding`).
    static let roomy = 64
    /// How many reports are written in one go: what is being written shares its slot with nothing.
    static let batch = 64

    private var slots: [UInt32] = []
    /// Slots that came and were not compared: mostly the last one, whose thread still reads it.
    private var arrivals: [UInt32] = []
    /// Slots that wait, by what makes faults equal.
    private var sharers: [Int: UInt32] = [:]

    /// Makes an empty one, with room for all slots: `append` allocates nothing.
    init() {
        slots.reserveCapacity(256)
        // Once beforehand: -Onone builds make witness tables at first use, which allocates.
        if append(0) { slots.removeAll(keepingCapacity: true) }
    }

    /// How many wait.
    var count: Int { slots.count + arrivals.count }

    /// Adds a record while few wait; says whether it did.
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
    ///   - isParked: Says whether the thread that faulted still reads the record in a slot.
    ///   - key: Says what makes the fault in a slot equal to others; nil if it cannot be told.
    /// - Returns: What is to be done before anybody else looks.
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

    /// Takes the slots whose reports are to be written next: those that wait longest.
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

    /// Puts slots back whose reports could not be written: they wait longest, and share a slot, too, where many wait.
    ///
    /// - Parameters:
    ///   - failed: The slots.
    ///   - isParked: As for `add`.
    ///   - key: As for `add`.
    /// - Returns: What is to be done before anybody else looks.
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
            // One that came meanwhile and was compared is not parked.
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
