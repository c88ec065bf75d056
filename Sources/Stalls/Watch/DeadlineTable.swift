internal import RunLoops
internal import Synchronization

/// The deadlines that items have of their own.
///
/// Callable from any thread.
package final class ItemDeadlines: Sendable {
    /// Those of the process.
    package static let shared = ItemDeadlines()

    /// Protected by its lock.
    private let deadlines = Mutex<[UInt64: CalloutDeadline]>([:])
    /// The shortest of them, in nanoseconds; `Int64.max` without any.
    private let shortestTime = Atomic<Int64>(.max)

    /// None yet.
    package init() {}

    var shortest: Int64 { shortestTime.load(ordering: .relaxed) }

    /// Gives an item a deadline; nil takes it away.
    package func set(_ deadline: CalloutDeadline?, forItem item: UInt64) {
        deadlines.withLock { deadlines in
            deadlines[item] = deadline
            let shortest = deadlines.values.reduce(Int64.max) { min($0, $1.nanoseconds) }
            shortestTime.store(shortest, ordering: .relaxed)
        }
    }

    /// Nil if it has none.
    package func deadline(ofItem item: UInt64) -> CalloutDeadline? { deadlines.withLock { $0[item] } }
}

/// The deadlines of callouts: the host's, and those of some items.
///
/// Callable from any thread.
final class DeadlineTable: Sendable {
    private let usual: CalloutDeadline?
    private let items: ItemDeadlines

    init(_ usual: CalloutDeadline?, items: ItemDeadlines = ItemDeadlines()) {
        self.usual = usual
        self.items = items
    }

    /// Whether there is any.
    var isEmpty: Bool { usual == nil && items.shortest == .max }

    /// The time between two looks at a loop, in nanoseconds.
    ///
    /// A stop of the process within a sleep of the watcher is not noticed: so none is long.
    var interval: Int64 { min(min(usual?.nanoseconds ?? .max, items.shortest) / 4, 100_000_000) }

    func set(_ deadline: CalloutDeadline?, forItem item: UInt64) { items.set(deadline, forItem: item) }

    /// The deadline that an item has of its own.
    func own(ofItem item: UInt64) -> CalloutDeadline? { items.deadline(ofItem: item) }

    /// The deadline that holds for an item.
    func deadline(ofItem item: UInt64) -> CalloutDeadline? { items.deadline(ofItem: item) ?? usual }
}

extension CalloutDeadline {
    /// In nanoseconds, a millisecond at least.
    var nanoseconds: Int64 { max(after.saturatingNanoseconds, 1_000_000) }
}
