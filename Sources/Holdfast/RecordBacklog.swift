/// The slots whose records wait for their reports.
///
/// A pure state machine. A disk that stands still for seconds holds up the report writer, and one bug may fault hundreds of times
/// meanwhile: so where many records wait, equal ones share a slot.
struct RecordBacklog {
    /// How many wait before equal ones are looked for: that takes as long as a verdict.
    static let roomy = 16
    /// How many reports are written in one go: what is being written shares its slot with nothing.
    static let batch = 64

    private var slots: [UInt32] = []
    /// Slots that wait, by what makes faults equal.
    private var sharers: [Int: UInt32] = [:]

    /// Whether nothing waits.
    var isEmpty: Bool { slots.isEmpty }

    /// Adds a record, unless an equal one waits.
    ///
    /// - Parameters:
    ///   - slot: Its slot.
    ///   - key: Says what makes its fault equal to others; nil if it cannot be told.
    /// - Returns: The slot of the equal one, which this fault is to be counted in.
    mutating func add(_ slot: UInt32, key: () -> Int?) -> UInt32? {
        if slots.count >= Self.roomy, let key = key() {
            if let other = sharers[key] { return other }
            sharers[key] = slot
        }
        slots.append(slot)
        return nil
    }

    /// Takes the slots whose reports are to be written next: those that wait longest.
    mutating func take() -> [UInt32] {
        let taken = Array(slots.prefix(Self.batch))
        slots.removeFirst(taken.count)
        let isTaken = Set(taken)
        sharers = sharers.filter { !isTaken.contains($0.value) }
        return taken
    }

    /// Puts slots back whose reports could not be written: they wait longest, and what is equal may share them.
    ///
    /// - Parameters:
    ///   - failed: The slots.
    ///   - keys: What makes the fault of each equal to others; nil where it cannot be told.
    mutating func putBack(_ failed: [UInt32], keys: [Int?]) {
        slots.insert(contentsOf: failed, at: 0)
        for case (let slot, let key?) in zip(failed, keys).reversed() { sharers[key] = slot }
    }
}
