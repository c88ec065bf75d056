internal import Synchronization

/// The items whose callouts were abandoned most recently: a stall in such a callout did not end by itself.
package final class AbandonedItems: Sendable {
    /// More than the number of loops that could stall at once.
    private static let capacity = 64

    /// Oldest first; protected by its lock.
    private let items = Mutex<[UInt64]>([])

    /// Starts empty.
    package init() {}

    /// Adds an item.
    ///
    /// Called on the thread of the abandoned callout, before its next callout.
    package func add(_ item: UInt64) {
        items.withLock { items in
            if items.count == Self.capacity { items.removeFirst() }
            items.append(item)
        }
    }

    /// Removes an item; returns whether it was present.
    ///
    /// Callable from any thread.
    package func take(_ item: UInt64) -> Bool {
        items.withLock { items in
            let count = items.count
            items.removeAll { $0 == item }
            return items.count < count
        }
    }
}
