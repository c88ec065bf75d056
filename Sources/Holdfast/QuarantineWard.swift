internal import RunLoops
internal import Synchronization

/// The items that were taken out of their loops, until they are put back.
///
/// Any loop's thread adds to it; the main thread takes from it.
final class QuarantineWard: Sendable {
    /// Nil for an item that was gone by then.
    ///
    /// Protected by its lock.
    private let withdrawals = Mutex<[UInt64: HostRunLoop.Withdrawal?]>([:])

    /// Takes the item of an abandoned callout out of its loop.
    ///
    /// Called on the loop's thread.
    func admit(_ callout: HostRunLoop.AbandonedCallout) {
        let withdrawal = callout.loop.withdraw(item: callout.item)
        withdrawals.withLock { $0[callout.item] = .some(withdrawal) }
    }

    /// Whether an item was admitted, even if it was gone by then: its loop's thread may not have come so far yet.
    func knows(_ item: UInt64) -> Bool {
        withdrawals.withLock { $0[item] != nil }
    }

    /// Puts an item back, on the thread of its loop.
    func discharge(_ item: UInt64) {
        withdrawals.withLock { $0.removeValue(forKey: item) ?? nil }?.putBack()
    }

    /// The labels of the items, in their order.
    var labels: [String] {
        withdrawals.withLock { withdrawals in
            withdrawals.sorted { $0.key < $1.key }.compactMap(\.value?.label)
        }
    }

    /// The label of an item; nil if it is not in the ward.
    func label(of item: UInt64) -> String? {
        withdrawals.withLock { $0[item]??.label }
    }
}
