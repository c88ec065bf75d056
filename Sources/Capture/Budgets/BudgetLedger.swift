/// What is left of a budget: a pure count over times that the caller gives.
///
/// Allocates nothing once it is made.
package struct BudgetLedger: ~Copyable, Sendable {
    /// The faults in a window of time.
    package struct Count: Sendable {
        fileprivate var windowStart: Duration = .zero
        package fileprivate(set) var faults = 0

        /// Makes a count of zero.
        package init() {}

        package init(windowStart: Duration, faults: Int) {
            self.windowStart = windowStart
            self.faults = faults
        }

        /// How many faults are in the window at a time.
        package func faults(at now: Duration, within window: Duration) -> Int {
            now - windowStart >= window ? 0 : faults
        }

        package mutating func add(at now: Duration, within window: Duration) {
            if now - windowStart >= window {
                windowStart = now
                faults = 0
            }
            faults += 1
        }
    }

    /// How many items are counted.
    ///
    /// If there are more, the one that has not faulted for longest is forgotten.
    package static let itemCapacity = 256

    private let budget: FaultBudget
    private var total = 0
    private var window = Count()
    private var items: ItemTable<Count>
    /// Bytes noted so far.
    package private(set) var lostBytes = 0
    /// Descriptors noted so far.
    package private(set) var lostDescriptors = 0

    /// Makes a ledger in which nothing is spent.
    ///
    /// - Parameters:
    ///   - budget: What may be spent.
    ///   - itemCapacity: How many items are counted, a power of two.
    package init(_ budget: FaultBudget, itemCapacity: Int = Self.itemCapacity) {
        self.budget = budget
        items = ItemTable(capacity: itemCapacity, vacant: Count())
    }

    /// Returns which budget is spent for a fault.
    ///
    /// - Parameters:
    ///   - item: The item; if it is 0, the budget of an item does not count.
    ///   - now: When the fault is, a time since the process began.
    ///   - countsInWindow: Whether the budget of a window of time counts.
    /// - Returns: The budget; nil if the fault may be resumed.
    package func objection(to item: UInt64, at now: Duration, countsInWindow: Bool = true) -> StaticString? {
        if total >= budget.perProcess { return "the budget of faults is spent" }
        if countsInWindow, window.faults(at: now, within: budget.window) >= budget.perWindow {
            return "the budget of faults within a window of time is spent"
        }
        if item != 0 {
            let faults = items.place(of: item).map { items.value(at: $0).faults(at: now, within: budget.window) }
            if faults ?? 0 >= budget.perItem { return "the budget of faults of the item is spent" }
        }
        if lostBytes >= budget.lostBytes { return "the budget of memory lost to abandoned frames is spent" }
        if lostDescriptors >= budget.lostDescriptors {
            return "the budget of descriptors lost to abandoned frames is spent"
        }
        return nil
    }

    /// Counts a fault that is resumed.
    package mutating func spend(on item: UInt64, at now: Duration, countsInWindow: Bool = true) {
        total += 1
        if countsInWindow { window.add(at: now, within: budget.window) }
        guard item != 0 else { return }
        if let place = items.place(of: item) {
            var count = items.value(at: place)
            count.add(at: now, within: budget.window)
            items.setValue(count, at: place)
            return
        }
        if items.isFull, let oldest = items.oldest { items.remove(at: oldest) }
        items.insert(item, Count(windowStart: now, faults: 1))
    }

    /// Forgets the faults of an item, but not their cost to the process.
    package mutating func forget(_ item: UInt64) {
        if let place = items.place(of: item) { items.remove(at: place) }
    }

    /// Counts memory that abandoned frames keep; a negative number counts as 0.
    package mutating func lose(bytes: Int) {
        lostBytes = Self.sum(lostBytes, bytes)
    }

    /// Counts descriptors that abandoned frames left open.
    package mutating func lose(descriptors: Int) {
        lostDescriptors = Self.sum(lostDescriptors, descriptors)
    }

    private static func sum(_ total: Int, _ more: Int) -> Int {
        let (sum, overflow) = total.addingReportingOverflow(max(0, more))
        return overflow ? .max : sum
    }
}
