import Testing

@testable import Supervision

/// How many faults a budget allows, and when.
@Suite struct BudgetLedgerTests {
    /// Spends as often as allowed at a time, at most so often.
    private static func spend(_ ledger: inout BudgetLedger, at now: Duration, most: Int = 1000) -> Int {
        var count = 0
        while count < most, ledger.allows(at: now) {
            ledger.spend(at: now)
            count += 1
        }
        return count
    }

    @Test func `A process has so many faults and no more, however long it lives`() {
        var ledger = BudgetLedger(FaultBudget(perProcess: 5, perWindow: .max))
        #expect(Self.spend(&ledger, at: .zero, most: 3) == 3)
        #expect(Self.spend(&ledger, at: .seconds(1_000_000)) == 2)
        #expect(!ledger.allows(at: .seconds(2_000_000)))
    }

    @Test func `A window has so many, and the next one as many again`() {
        var ledger = BudgetLedger(FaultBudget(perProcess: 100, perWindow: 3, window: .seconds(10)))
        #expect(Self.spend(&ledger, at: .seconds(1)) == 3)
        #expect(!ledger.allows(at: .seconds(9)))
        #expect(Self.spend(&ledger, at: .seconds(10)) == 3, "the first window began with the process")
        #expect(!ledger.allows(at: .seconds(19)))
        #expect(Self.spend(&ledger, at: .seconds(25)) == 3, "a window begins with its first fault")
        #expect(!ledger.allows(at: .seconds(34)))
        #expect(ledger.allows(at: .seconds(35)))
    }

    @Test func `Asking costs nothing`() {
        var ledger = BudgetLedger(FaultBudget(perProcess: 1, perWindow: 1))
        for _ in 0..<10 { #expect(ledger.allows(at: .zero)) }
        #expect(Self.spend(&ledger, at: .zero) == 1)
    }

    @Test(arguments: [(0, 10), (10, 0), (-1, 10), (0, 0)])
    func `A budget of nothing allows nothing`(perProcess: Int, perWindow: Int) {
        var ledger = BudgetLedger(FaultBudget(perProcess: perProcess, perWindow: perWindow))
        #expect(Self.spend(&ledger, at: .seconds(1)) == 0)
    }

    @Test func `The budgets that come with Holdfast are those of the documentation`() {
        var ledger = BudgetLedger(.default)
        #expect(Self.spend(&ledger, at: .zero) == 100)
        #expect(Self.spend(&ledger, at: .seconds(60)) == 100)
        var generous = BudgetLedger(.generous)
        #expect(Self.spend(&generous, at: .zero, most: 100_000) == 20_000)
    }
}
