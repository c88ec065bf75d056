@testable import CrashCapture

// What `#expect` looks at must be copyable; ledgers and tables are not. Each stands behind a reference here.

final class Ledger {
    private var ledger: BudgetLedger

    init(_ budget: FaultBudget) { ledger = BudgetLedger(budget) }

    var lostBytes: Int { ledger.lostBytes }
    var lostDescriptors: Int { ledger.lostDescriptors }

    func objection(to item: UInt64, at now: Duration) -> StaticString? { ledger.objection(to: item, at: now) }
    func spend(on item: UInt64, at now: Duration) { ledger.spend(on: item, at: now) }
    func forget(_ item: UInt64) { ledger.forget(item) }
    func lose(bytes: Int) { ledger.lose(bytes: bytes) }
    func lose(descriptors: Int) { ledger.lose(descriptors: descriptors) }

    /// Why a fault may not be resumed, "none" if it may.
    func reason(item: UInt64 = 0, at now: Duration = .zero) -> String {
        objection(to: item, at: now)?.description ?? "none"
    }

    /// Spends as often as allowed at a time, at most so often.
    func spendAll(on item: UInt64 = 0, at now: Duration, most: Int = 1000) -> Int {
        var count = 0
        while count < most, objection(to: item, at: now) == nil {
            spend(on: item, at: now)
            count += 1
        }
        return count
    }
}

final class Table {
    private var table: ItemTable<Int>

    init(capacity: Int) { table = ItemTable(capacity: capacity, vacant: 0) }

    var count: Int { table.count }
    var isFull: Bool { table.isFull }
    var oldest: UInt64? { table.oldest.map { table.item(at: $0) } }

    func place(of item: UInt64) -> Int? { table.place(of: item) }
    func value(of item: UInt64) -> Int? { table.place(of: item).map { table.value(at: $0) } }
    func insert(_ item: UInt64, _ value: Int) -> Bool { table.insert(item, value) }
    func setValue(_ value: Int, at place: Int) { table.setValue(value, at: place) }
    func remove(at place: Int) -> Int { table.remove(at: place) }
}
