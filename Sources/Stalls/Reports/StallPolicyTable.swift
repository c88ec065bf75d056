internal import Synchronization

/// The policies that items have of their own.
///
/// Callable from any thread.
package final class StallPolicyTable: Sendable {
    /// That of the process.
    package static let shared = StallPolicyTable()

    /// Protected by its lock.
    private let policies = Mutex<[UInt64: StallPolicy.Item]>([:])

    /// Gives an item a policy; nil takes it away.
    package func set(_ policy: StallPolicy.Item?, forItem item: UInt64) {
        policies.withLock { $0[item] = policy }
    }

    /// Nil if it has none.
    package func policy(ofItem item: UInt64) -> StallPolicy.Item? { policies.withLock { $0[item] } }
}
