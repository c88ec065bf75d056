internal import Synchronization

/// The items whose callouts were abandoned last: a stall that ended so did not go on by itself.
package final class AbandonedItems: Sendable {
    /// More than loops that stall at once.
    private static let capacity = 64

    /// The oldest first; protected by its lock.
    private let items = Mutex<[UInt64]>([])

    /// None yet.
    package init() {}

    /// Notes one.
    ///
    /// On the thread whose callout it was, between that and the next one.
    package func add(_ item: UInt64) {
        items.withLock { items in
            if items.count == Self.capacity { items.removeFirst() }
            items.append(item)
        }
    }

    /// Takes an item out; says whether it was there.
    ///
    /// On any thread.
    package func take(_ item: UInt64) -> Bool {
        items.withLock { items in
            let count = items.count
            items.removeAll { $0 == item }
            return items.count < count
        }
    }
}
