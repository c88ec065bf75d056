import Testing

@testable import StallDetection

/// How ticks are counted: in nanoseconds, with a period of 100.
@Suite struct TickLedgerTests {
    private func ledger(_ limits: TickMonitor.Limits = TickMonitor.Limits(perTick: nil)) -> TickLedger {
        TickLedger(period: 100, limits: limits, start: 0)
    }

    @Test func `Ticks in time are smooth`() {
        var ledger = ledger()
        for number in 1...50 { #expect(ledger.tick(at: Int64(number) * 100, wait: 0...0) == nil) }
        let statistics = ledger.statistics
        #expect(statistics.ticks == 50 && statistics.missed == 0)
        #expect(statistics.smoothness == 1 && statistics.hitchRatio == 0)
        #expect(statistics.elapsed == .nanoseconds(5000))
        #expect(statistics.lateness.count == 50 && statistics.lateness.longest == .zero)
    }

    @Test func `A late tick stands for those that it kept from coming, and the phase stays`() {
        var ledger = ledger()
        _ = ledger.tick(at: 100, wait: 0...0)
        // Due at 200; those of 300 and 400 do not come.
        _ = ledger.tick(at: 450, wait: 0...0)
        #expect(ledger.due == 500)
        _ = ledger.tick(at: 500, wait: 0...0)
        let statistics = ledger.statistics
        #expect(statistics.ticks == 3 && statistics.missed == 2)
        #expect(statistics.lateness.longest == .nanoseconds(250))
        #expect(statistics.heldUp == .nanoseconds(250))
        #expect(statistics.smoothness == 3.0 / 5)
        // 250 of 500 nanoseconds.
        #expect(statistics.hitchRatio == 500)
    }

    @Test func `What a sleeping loop was late to wake is not held against it`() {
        var ledger = ledger(TickMonitor.Limits(perTick: .nanoseconds(50)))
        #expect(ledger.tick(at: 1_000_000, wait: 90...999_980) == nil)
        #expect(ledger.statistics.heldUp == .nanoseconds(20))
        #expect(ledger.statistics.lateness.longest == .nanoseconds(999_900))
        // Awake since before it was due; and busy until it looked again, which was no sleep.
        let event = ledger.tick(at: ledger.due + 51, wait: 999_999...ledger.due - 1)
        #expect(event == .tick(lateness: .nanoseconds(51), heldUp: .nanoseconds(51)))
        let due = ledger.due
        let second = ledger.tick(at: due + 60, wait: due + 58...due + 59)
        #expect(second == .tick(lateness: .nanoseconds(60), heldUp: .nanoseconds(60)))
    }

    @Test func `The sum of a window has a limit of its own, is told once, and forgets`() {
        let limits = TickMonitor.Limits(perTick: nil, perWindow: .nanoseconds(60), window: .nanoseconds(3200))
        var ledger = ledger(limits)
        #expect(ledger.tick(at: 130, wait: 0...0) == nil)
        #expect(ledger.tick(at: 230, wait: 0...0) == nil)
        #expect(ledger.tick(at: 310, wait: 0...0) == .window(heldUp: .nanoseconds(70)))
        #expect(ledger.tick(at: 430, wait: 0...0) == nil)
        // A whole window later.
        #expect(ledger.tick(at: 4040, wait: 450...4000) == nil)
        #expect(ledger.tick(at: 4120, wait: 450...4000) == nil)
        #expect(ledger.tick(at: 4201, wait: 450...4000) == .window(heldUp: .nanoseconds(61)))
    }

    @Test func `A tick that is early is in time`() {
        var ledger = ledger()
        _ = ledger.tick(at: 99, wait: 0...0)
        #expect(ledger.due == 200 && ledger.statistics.lateness.total == .zero)
    }
}
