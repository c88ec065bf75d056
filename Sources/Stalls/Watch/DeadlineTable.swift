internal import RunLoops
internal import Synchronization

/// The deadlines of individual items.
///
/// Callable from any thread.
package final class ItemDeadlines: Sendable {
    /// The deadlines of the process.
    package static let shared = ItemDeadlines()

    /// Protected by its lock.
    private let deadlines = Mutex<[UInt64: CalloutDeadline]>([:])
    /// The shortest of them, in nanoseconds; `Int64.max` if there is none.
    private let shortestTime = Atomic<Int64>(.max)

    /// Starts empty.
    package init() {}

    var shortest: Int64 { shortestTime.load(ordering: .relaxed) }

    /// Sets the deadline of an item; nil removes it.
    package func set(_ deadline: CalloutDeadline?, forItem item: UInt64) {
        deadlines.withLock { deadlines in
            deadlines[item] = deadline
            let shortest = deadlines.values.reduce(Int64.max) { min($0, $1.nanoseconds) }
            shortestTime.store(shortest, ordering: .relaxed)
        }
    }

    /// The deadline of an item; nil if it has none.
    package func deadline(ofItem item: UInt64) -> CalloutDeadline? { deadlines.withLock { $0[item] } }
}

/// The deadlines of callouts: the host's default, and those of individual items.
///
/// Callable from any thread.
final class DeadlineTable: Sendable {
    private let usual: CalloutDeadline?
    private let items: ItemDeadlines

    init(_ usual: CalloutDeadline?, items: ItemDeadlines = ItemDeadlines()) {
        self.usual = usual
        self.items = items
    }

    /// Whether there is no deadline.
    var isEmpty: Bool { usual == nil && items.shortest == .max }

    /// The time between two looks at a loop, in nanoseconds.
    ///
    /// The interval stays short because the watcher does not notice a stop of the process within its own sleep.
    var interval: Int64 { min(min(usual?.nanoseconds ?? .max, items.shortest) / 4, 100_000_000) }

    func set(_ deadline: CalloutDeadline?, forItem item: UInt64) { items.set(deadline, forItem: item) }

    /// The item's own deadline, if any.
    func own(ofItem item: UInt64) -> CalloutDeadline? { items.deadline(ofItem: item) }

    /// The deadline that applies to an item.
    func deadline(ofItem item: UInt64) -> CalloutDeadline? { items.deadline(ofItem: item) ?? usual }
}

extension CalloutDeadline {
    /// The deadline in nanoseconds, at least a millisecond.
    var nanoseconds: Int64 { max(after.saturatingNanoseconds, 1_000_000) }
}
