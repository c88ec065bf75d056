internal import Synchronization

/// The policies that items have of their own.
///
/// Callable from any thread.
package final class StallPolicyTable: Sendable {
    /// Items that can have one.
    package static let capacity = 4096

    /// Protected by its lock.
    private let policies = Mutex<[UInt64: StallPolicy.Item]>([:])

    /// Returns false if there is no room for it.
    package func set(_ policy: StallPolicy.Item?, forItem item: UInt64) -> Bool {
        policies.withLock { policies in
            guard policy == nil || policies[item] != nil || policies.count < Self.capacity else { return false }
            policies[item] = policy
            return true
        }
    }

    /// Nil if it has none.
    package func policy(ofItem item: UInt64) -> StallPolicy.Item? { policies.withLock { $0[item] } }
}
