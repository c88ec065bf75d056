internal import Synchronization

/// The stall policies of individual items.
///
/// Callable from any thread.
package final class StallPolicyTable: Sendable {
    /// The table of the process.
    package static let shared = StallPolicyTable()

    /// Protected by its lock.
    private let policies = Mutex<[UInt64: StallPolicy.Item]>([:])

    /// Sets the policy of an item; nil removes it.
    package func set(_ policy: StallPolicy.Item?, forItem item: UInt64) {
        policies.withLock { $0[item] = policy }
    }

    /// The policy of an item; nil if it has none.
    package func policy(ofItem item: UInt64) -> StallPolicy.Item? { policies.withLock { $0[item] } }
}
