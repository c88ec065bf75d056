internal import CrashCapture
internal import Synchronization

/// The recovery policies that items have of their own.
///
/// The crash thread reads it while a thread is parked that may hold the heap. So nothing is allocated, freed or waited for under the lock:
/// a bigger table is made before it is taken, and what was there before is released after it.
package final class RecoveryPolicyTable: Sendable {
    /// Protected by its lock.
    private let table: Mutex<ItemTable<RecoveryPolicy?>>

    /// Makes one without policies, with room for a power of two of them to begin with.
    package init(capacity: Int = 1024) {
        table = Mutex(ItemTable(capacity: capacity, vacant: nil))
    }

    /// Gives an item a policy, at once and whole; nil takes it away.
    ///
    /// On any thread.
    package func set(_ policy: RecoveryPolicy?, forItem item: UInt64) {
        precondition(item != 0, "0 is the identity of no item")
        _ = policy?.objection?(Supervisor.madeUpFault)
        var before: RecoveryPolicy?
        while true {
            let capacity = table.withLock { table -> Int? in
                if let place = table.place(of: item) {
                    before = policy == nil ? table.remove(at: place) : table.setValue(policy, at: place)
                    return nil
                }
                guard let policy, !table.insert(item, policy) else { return nil }
                return table.capacity
            }
            guard let capacity else { return withExtendedLifetime(before) {} }
            grow(beyond: capacity)
        }
    }

    private func grow(beyond capacity: Int) {
        var bigger = ItemTable<RecoveryPolicy?>(capacity: 2 * capacity, vacant: nil)
        table.withLock { table in
            // Somebody else may have done it meanwhile.
            guard table.capacity == capacity else { return }
            bigger.add(contentsOf: table)
            swap(&table, &bigger)
        }
    }

    /// The policy of an item, nil if it has none of its own.
    ///
    /// On any thread, the crash thread among them.
    package func policy(ofItem item: UInt64) -> RecoveryPolicy? {
        table.withLock { table in table.place(of: item).flatMap { table.value(at: $0) } }
    }
}
