internal import CrashCapture

/// Which items are in quarantine, on probation, or on their way there: a pure state machine over times that the caller gives.
///
/// Allocates nothing once it is made.
package struct QuarantineLedger: ~Copyable, Sendable {
    /// What a fault means for its item.
    package enum Outcome: Sendable, Equatable {
        /// It stays in its loop.
        case tolerated
        /// It is taken out, for so long; nil for ever.
        case quarantined(coolDown: Duration?)
    }

    /// That an item is out of its loop.
    struct Quarantine {
        /// When that is over; nil for ever.
        var end: Duration?
    }

    /// Where an item is.
    private enum Phase: Sendable {
        /// In its loop, with faults.
        case counting(BudgetLedger.Count)
        /// Out of its loop until a time, nil for ever.
        case quarantine(until: Duration?)
        /// Back in its loop, to be forgiven at a time.
        case probation(until: Duration)
    }

    private struct Entry: Sendable {
        var phase: Phase
        /// How often it was put back.
        var trials = 0
        /// Faults since it was to be taken out.
        var strays = 0
    }

    /// Items that can be told apart at once.
    package static let capacity = 64

    private let policy: QuarantinePolicy
    private let itemLimit: Int
    private let labelLimit: Int
    private let window: Duration
    private var entries: ItemTable<Entry>

    /// Makes one in which nothing has faulted.
    ///
    /// - Parameters:
    ///   - policy: When an item is taken out.
    ///   - budget: How often it may fault until then.
    ///   - capacity: How many items can be told apart at once, a power of two.
    package init(_ policy: QuarantinePolicy, budget: FaultBudget, capacity: Int = Self.capacity) {
        self.policy = policy
        entries = ItemTable(capacity: capacity, vacant: Entry(phase: .counting(BudgetLedger.Count())))
        itemLimit = max(1, budget.perItem)
        labelLimit = max(1, budget.perLabel)
        window = budget.window
    }

    /// Why a fault of an item may not be resumed: what should be out is not, or there is no room for more; nil if it may.
    func objection(to item: UInt64, at now: Duration) -> StaticString? {
        guard let place = entries.place(of: item) else {
            let hasRoom = !entries.isFull || oldestInLoop(at: now) != nil
            return hasRoom ? nil : "more items are in quarantine than can be kept apart"
        }
        let entry = entries.value(at: place)
        guard case .quarantine = entry.phase, entry.strays >= itemLimit else { return nil }
        return "the item is in quarantine, and still faults"
    }

    /// Counts a fault that is resumed.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - isLabel: Whether it is a label of fault boundaries, which may fault more often than an item of a loop.
    ///   - now: When it was.
    /// - Returns: What it means for the item.
    package mutating func fault(of item: UInt64, isLabel: Bool = false, at now: Duration) -> Outcome {
        let limit = isLabel ? labelLimit : itemLimit
        guard let place = entries.place(of: item) else { return begin(item, limit, at: now) }
        var entry = entries.value(at: place)
        switch entry.phase {
        case .counting(var count):
            count.add(at: now, within: window)
            if count.faults >= limit { return quarantine(entry, at: place, now) }
            entry.phase = .counting(count)
        case .quarantine(let end):
            // Its host has not taken it out yet, or it was in a callout on another loop.
            entry.strays += 1
            entries.setValue(entry, at: place)
            return .quarantined(coolDown: end.map { max(.zero, $0 - now) })
        case .probation(let end):
            if now < end { return quarantine(entry, at: place, now) }
            // Forgiven, though nobody has looked since.
            entries.remove(at: place)
            return begin(item, limit, at: now)
        }
        entries.setValue(entry, at: place)
        return .tolerated
    }

    private mutating func begin(_ item: UInt64, _ limit: Int, at now: Duration) -> Outcome {
        if entries.isFull, let oldest = oldestInLoop(at: now) { entries.remove(at: oldest) }
        let entry = Entry(phase: .counting(BudgetLedger.Count(windowStart: now, faults: 1)))
        guard entries.insert(item, entry) else { return .tolerated }
        guard limit == 1, let place = entries.place(of: item) else { return .tolerated }
        return quarantine(entry, at: place, now)
    }

    private mutating func quarantine(_ entry: Entry, at place: Int, _ now: Duration) -> Outcome {
        var entry = entry
        let coolDown = policy.coolDown(afterTrials: entry.trials)
        entry.phase = .quarantine(until: coolDown.map { now + $0 })
        entry.strays = 0
        entries.setValue(entry, at: place)
        return .quarantined(coolDown: coolDown)
    }

    /// The item in its loop whose last fault is longest ago: what may be forgotten.
    private func oldestInLoop(at now: Duration) -> Int? {
        var oldest: Int?
        for place in 0..<entries.capacity where entries.item(at: place) != 0 {
            switch entries.value(at: place).phase {
            case .quarantine: continue
            case .probation(let end) where now < end: continue
            case .counting, .probation: break
            }
            if let found = oldest, entries.lastUse(at: found) <= entries.lastUse(at: place) { continue }
            oldest = place
        }
        return oldest
    }

    // MARK: On the loop's thread

    /// Puts an item on probation whose cool-down is over; 0 if there is none.
    package mutating func takeDue(at now: Duration) -> UInt64 {
        for place in 0..<entries.capacity where entries.item(at: place) != 0 {
            guard case .quarantine(let end?) = entries.value(at: place).phase, end <= now else { continue }
            putBack(at: place, now)
            return entries.item(at: place)
        }
        return 0
    }

    /// Puts an item on probation, whatever its cool-down says; false if it is not in quarantine.
    mutating func putBack(_ item: UInt64, at now: Duration) -> Bool {
        guard let place = entries.place(of: item), case .quarantine = entries.value(at: place).phase else {
            return false
        }
        putBack(at: place, now)
        return true
    }

    private mutating func putBack(at place: Int, _ now: Duration) {
        var entry = entries.value(at: place)
        entry.phase = .probation(until: now + max(.zero, policy.healthyAfter))
        // Saturates: a host that puts back by hand may do it for ever.
        if entry.trials < .max { entry.trials += 1 }
        entries.setValue(entry, at: place)
    }

    /// Forgets an item: it was forgiven by hand, or is no more.
    mutating func forget(_ item: UInt64) {
        if let place = entries.place(of: item) { entries.remove(at: place) }
    }

    /// The quarantine of an item, and when it is over; nil if it is in none.
    func quarantine(of item: UInt64) -> Quarantine? {
        guard let place = entries.place(of: item), case .quarantine(let end) = entries.value(at: place).phase else {
            return nil
        }
        return Quarantine(end: end)
    }

    /// When the next cool-down is over; nil if none will be.
    var nextEnd: Duration? {
        var next: Duration?
        for place in 0..<entries.capacity where entries.item(at: place) != 0 {
            guard case .quarantine(let end?) = entries.value(at: place).phase else { continue }
            next = next.map { min($0, end) } ?? end
        }
        return next
    }

    /// Adds the items in quarantine to a list, which has room for them.
    func addQuarantined(to items: inout [UInt64]) {
        for place in 0..<entries.capacity where entries.item(at: place) != 0 {
            if case .quarantine = entries.value(at: place).phase { items.append(entries.item(at: place)) }
        }
    }
}
