internal import RunLoops
internal import Synchronization
internal import TaskBoundaries

/// The items that were taken out of their loops, and the labels whose boundaries are refused, until they are let back.
///
/// Any loop's thread adds to it, and so does the task that answers for an abandoned boundary; the main thread takes from it.
final class QuarantineWard: Sendable {
    private enum Patient: Sendable {
        /// Nil for an item that was gone by then.
        case item(HostRunLoop.Withdrawal?)
        case label(BoundaryLabel)

        var label: String? {
            switch self {
            case .item(let withdrawal): withdrawal?.label
            case .label(let label): label.name
            }
        }
    }

    private let supervisor: Supervisor
    /// Protected by its lock.
    private let patients = Mutex<[UInt64: Patient]>([:])

    /// Makes an empty one.
    ///
    /// - Parameter supervisor: Whose ledger says which labels are in quarantine.
    init(_ supervisor: Supervisor) {
        self.supervisor = supervisor
    }

    /// Takes the item of an abandoned callout out of its loop.
    ///
    /// Called on the loop's thread.
    func admit(_ callout: HostRunLoop.AbandonedCallout) {
        let withdrawal = callout.loop.withdraw(item: callout.item)
        patients.withLock { $0[callout.item] = .item(withdrawal) }
    }

    /// Has the boundaries of a label refused, if its quarantine is not over by now.
    ///
    /// Whoever changes the ledger comes here afterwards, and what it says is looked up under the lock: the last one to come leaves the label
    /// as the ledger has it.
    func admit(_ label: BoundaryLabel) {
        patients.withLock { patients in
            guard supervisor.isQuarantined(item: label.item) else { return }
            patients[label.item] = .label(label)
            label.isQuarantined = true
        }
    }

    /// Whether an item was admitted, even if it was gone by then: its loop's thread may not have come so far yet.
    func knows(_ item: UInt64) -> Bool {
        patients.withLock { $0[item] != nil }
    }

    /// Lets an item or a label back whose quarantine is over: an item on the thread of its loop.
    func discharge(_ item: UInt64) {
        let withdrawal = patients.withLock { patients -> HostRunLoop.Withdrawal? in
            switch patients[item] {
            case .item(let withdrawal):
                patients[item] = nil
                return withdrawal
            case .label(let label):
                // A fault may have put it into quarantine again.
                guard !supervisor.isQuarantined(item: item) else { return nil }
                patients[item] = nil
                label.isQuarantined = false
                return nil
            case nil:
                return nil
            }
        }
        withdrawal?.putBack()
    }

    /// The names of all, in the order of their numbers.
    var labels: [String] {
        patients.withLock { patients in
            patients.sorted { $0.key < $1.key }.compactMap(\.value.label)
        }
    }

    /// The name of an item or a label; nil if it is not in the ward.
    func label(of item: UInt64) -> String? {
        patients.withLock { $0[item]?.label }
    }
}
