import Testing

@testable import CrashCapture

/// How many faults a budget allows, and when.
@Suite struct BudgetLedgerTests {
    @Test func `A process has so many faults and no more, however long it lives`() {
        let ledger = Ledger(FaultBudget(perProcess: 5, perWindow: .max))
        #expect(ledger.spendAll(at: .zero, most: 3) == 3)
        #expect(ledger.spendAll(at: .seconds(1_000_000)) == 2)
        #expect(ledger.objection(to: 0, at: .seconds(2_000_000)) != nil)
    }

    @Test func `A window has so many, and the next one as many again`() {
        let ledger = Ledger(FaultBudget(perProcess: 100, perWindow: 3, window: .seconds(10)))
        #expect(ledger.spendAll(at: .seconds(1)) == 3)
        #expect(ledger.objection(to: 0, at: .seconds(9)) != nil)
        #expect(ledger.spendAll(at: .seconds(10)) == 3, "the first window began with the process")
        #expect(ledger.objection(to: 0, at: .seconds(19)) != nil)
        #expect(ledger.spendAll(at: .seconds(25)) == 3, "a window begins with its first fault")
        #expect(ledger.objection(to: 0, at: .seconds(34)) != nil)
        #expect(ledger.objection(to: 0, at: .seconds(35)) == nil)
    }

    @Test func `Asking costs nothing`() {
        let ledger = Ledger(FaultBudget(perProcess: 1, perWindow: 1))
        for _ in 0..<10 { #expect(ledger.objection(to: 1, at: .zero) == nil) }
        #expect(ledger.spendAll(at: .zero) == 1)
    }

    @Test(arguments: [(0, 10), (10, 0), (-1, 10), (0, 0)])
    func `A budget of nothing allows nothing`(perProcess: Int, perWindow: Int) {
        let ledger = Ledger(FaultBudget(perProcess: perProcess, perWindow: perWindow))
        #expect(ledger.spendAll(at: .seconds(1)) == 0)
    }

    @Test func `The budgets that come with Holdfast are those of the documentation`() {
        let ledger = Ledger(.default)
        #expect(ledger.spendAll(at: .zero) == 100)
        #expect(ledger.spendAll(at: .seconds(60)) == 100)
        let generous = Ledger(.generous)
        #expect(generous.spendAll(at: .zero, most: 200_000) == 200_000)
    }

    @Test func `An item has so many within a window, and the others as many as ever`() {
        let budget = FaultBudget(perProcess: 1000, perWindow: 1000, window: .seconds(10), perItem: 2)
        let ledger = Ledger(budget)
        #expect(ledger.spendAll(on: 7, at: .seconds(1)) == 2)
        #expect(ledger.spendAll(on: 8, at: .seconds(1)) == 2)
        #expect(ledger.reason(item: 7, at: .seconds(10)).contains("of the item"))
        #expect(ledger.objection(to: 9, at: .seconds(10)) == nil)
        #expect(ledger.spendAll(on: 7, at: .seconds(11)) == 2, "its window began with its first fault")
    }

    @Test func `Faults of no item count in the process alone`() {
        let ledger = Ledger(FaultBudget(perProcess: 10, perWindow: 10, perItem: 2))
        #expect(ledger.spendAll(at: .zero) == 10)
    }

    @Test func `Of more items than there is room for, the one without faults for longest is forgotten`() {
        let ledger = Ledger(FaultBudget(perProcess: .max, perWindow: .max, perItem: 2))
        let room = UInt64(BudgetLedger.itemCapacity)
        for item in 1...room { ledger.spend(on: item, at: .zero) }
        ledger.spend(on: 1, at: .zero)
        ledger.spend(on: room + 1, at: .zero)
        #expect(ledger.objection(to: 1, at: .zero) != nil, "two faults, and it was used last but one")
        ledger.spend(on: 2, at: .zero)
        #expect(ledger.objection(to: 2, at: .zero) == nil, "it was forgotten, and has one fault again")
        #expect(ledger.spendAll(on: 4, at: .zero) == 1, "one was counted before")
    }

    @Test func `An item that was forgiven has its whole budget again, the process has not`() {
        let ledger = Ledger(FaultBudget(perProcess: 3, perWindow: .max, perItem: 2))
        #expect(ledger.spendAll(on: 7, at: .zero) == 2)
        ledger.forget(7)
        ledger.forget(8)
        #expect(ledger.spendAll(on: 7, at: .zero) == 1)
        #expect(ledger.reason(item: 7).contains("the budget of faults is spent"))
    }

    @Test func `Memory and descriptors that were lost end the budget`() {
        let ledger = Ledger(FaultBudget(perProcess: 9, perWindow: 9, lostBytes: 1000, lostDescriptors: 3))
        ledger.lose(bytes: 999)
        ledger.lose(bytes: -500)
        ledger.lose(descriptors: 2)
        #expect(ledger.objection(to: 1, at: .zero) == nil)
        ledger.lose(bytes: 1)
        #expect(ledger.reason().contains("memory"))
        #expect(ledger.lostBytes == 1000)

        let descriptors = Ledger(FaultBudget(perProcess: 9, perWindow: 9, lostBytes: 1000, lostDescriptors: 3))
        descriptors.lose(descriptors: 3)
        #expect(descriptors.reason().contains("descriptors"))
        descriptors.lose(descriptors: .max)
        #expect(descriptors.lostDescriptors == .max)
    }

    @Test func `Each spent budget has a reason of its own`() {
        var reasons: Set<String> = []
        for budget in [
            FaultBudget(perProcess: 0, perWindow: 9), FaultBudget(perProcess: 9, perWindow: 0),
            FaultBudget(perProcess: 9, perWindow: 9, perItem: 0),
            FaultBudget(perProcess: 9, perWindow: 9, lostBytes: 0),
            FaultBudget(perProcess: 9, perWindow: 9, lostDescriptors: 0),
        ] {
            let reason = Ledger(budget).reason(item: 1)
            #expect(reason.contains("budget"))
            reasons.insert(reason)
        }
        #expect(reasons.count == 5)
    }
}
