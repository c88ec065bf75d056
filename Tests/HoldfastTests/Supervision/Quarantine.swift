@testable import CrashCapture
@testable import Holdfast

/// A ledger of items in quarantine behind a reference: what `#expect` looks at must be copyable, which the ledger is not.
final class Quarantine {
    private var ledger: QuarantineLedger

    init(_ policy: QuarantinePolicy, faults: Int = 3, window: Duration = .seconds(60)) {
        let budget = FaultBudget(perProcess: 1000, perWindow: 1000, window: window, perItem: faults)
        ledger = QuarantineLedger(policy, budget: budget)
    }

    var nextEnd: Duration? { ledger.nextEnd }
    var items: [UInt64] {
        var items: [UInt64] = []
        ledger.addQuarantined(to: &items)
        return items.sorted()
    }

    func objection(to item: UInt64, at now: Duration) -> String? { ledger.objection(to: item, at: now)?.description }
    func fault(of item: UInt64, at now: Duration) -> QuarantineLedger.Outcome { ledger.fault(of: item, at: now) }
    func takeDue(at now: Duration) -> UInt64 { ledger.takeDue(at: now) }
    func putBack(_ item: UInt64, at now: Duration) -> Bool { ledger.putBack(item, at: now) }
    func forget(_ item: UInt64) { ledger.forget(item) }

    /// Faults until the item is out; returns how many that took.
    func faultUntilOut(_ item: UInt64, at now: Duration) -> Int {
        var count = 1
        while count < 1000, fault(of: item, at: now) == .tolerated { count += 1 }
        return count
    }
}
