import Testing

@testable import Holdfast

/// Items on their way into quarantine and out again, at given times.
@Suite struct QuarantineTests {
    private static let policy = QuarantinePolicy(
        times: BackOff(first: .seconds(30), longest: .seconds(100)),
        healthyAfter: .seconds(20)
    )

    @Test func `The fault that reaches the limit takes the item out`() {
        let ledger = Quarantine(Self.policy)
        #expect(ledger.fault(of: 7, at: .seconds(1)) == .tolerated)
        #expect(ledger.fault(of: 8, at: .seconds(2)) == .tolerated)
        #expect(ledger.fault(of: 7, at: .seconds(2)) == .tolerated)
        #expect(ledger.items == [])
        #expect(ledger.fault(of: 7, at: .seconds(60)) == .quarantined(coolDown: .seconds(30)))
        #expect(ledger.items == [7])
        #expect(ledger.nextEnd == .seconds(90))
    }

    @Test func `Faults that are further apart than the window never do`() {
        let ledger = Quarantine(Self.policy)
        for round in 0..<100 { #expect(ledger.fault(of: 7, at: .seconds(31 * round)) == .tolerated) }
    }

    @Test func `After the cool-down it is due once, and then on probation`() {
        let ledger = Quarantine(Self.policy)
        #expect(ledger.faultUntilOut(7, at: .zero) == 3)
        #expect(ledger.takeDue(at: .seconds(29)) == 0)
        #expect(ledger.takeDue(at: .seconds(30)) == 7)
        #expect(ledger.takeDue(at: .seconds(31)) == 0)
        #expect(ledger.nextEnd == nil)
        #expect(ledger.items == [])
    }

    @Test func `One fault on probation takes it out for twice as long, up to the longest time`() {
        let ledger = Quarantine(Self.policy)
        #expect(ledger.faultUntilOut(7, at: .zero) == 3)
        var now = Duration.seconds(30)
        for expected in [60, 100, 100, 100] {
            #expect(ledger.takeDue(at: now) == 7)
            now += .seconds(19)
            #expect(ledger.fault(of: 7, at: now) == .quarantined(coolDown: .seconds(expected)))
            now += .seconds(expected)
        }
    }

    @Test func `A clean probation is forgiven: the count and the time out begin again`() {
        let ledger = Quarantine(Self.policy)
        #expect(ledger.faultUntilOut(7, at: .zero) == 3)
        #expect(ledger.takeDue(at: .seconds(30)) == 7)
        #expect(ledger.fault(of: 7, at: .seconds(49)) == .quarantined(coolDown: .seconds(60)))
        #expect(ledger.takeDue(at: .seconds(109)) == 7)
        #expect(ledger.fault(of: 7, at: .seconds(129)) == .tolerated)
        #expect(ledger.fault(of: 7, at: .seconds(129)) == .tolerated)
        #expect(ledger.fault(of: 7, at: .seconds(129)) == .quarantined(coolDown: .seconds(30)))
    }

    @Test func `Without a cool-down, or after the last trial, it stays out`() {
        let permanent = Quarantine(QuarantinePolicy(times: .forever), faults: 1)
        #expect(permanent.fault(of: 7, at: .zero) == .quarantined(coolDown: nil))
        #expect(permanent.nextEnd == nil)
        #expect(permanent.takeDue(at: .seconds(1_000_000)) == 0)
        #expect(permanent.items == [7])

        let once = Quarantine(
            QuarantinePolicy(times: BackOff(first: .seconds(1), longest: .seconds(1)), trials: 1),
            faults: 1
        )
        #expect(once.fault(of: 7, at: .zero) == .quarantined(coolDown: .seconds(1)))
        #expect(once.takeDue(at: .seconds(1)) == 7)
        #expect(once.fault(of: 7, at: .seconds(2)) == .quarantined(coolDown: nil))
    }

    @Test func `A fault of an item that is out already leaves its time as it is`() {
        let ledger = Quarantine(Self.policy)
        #expect(ledger.faultUntilOut(7, at: .zero) == 3)
        #expect(ledger.fault(of: 7, at: .seconds(10)) == .quarantined(coolDown: .seconds(20)))
        #expect(ledger.fault(of: 7, at: .seconds(40)) == .quarantined(coolDown: .zero))
        #expect(ledger.takeDue(at: .seconds(40)) == 7)
    }

    @Test func `An item that faults on and on though it should be out is not resumed for ever`() {
        let ledger = Quarantine(Self.policy)
        #expect(ledger.faultUntilOut(7, at: .zero) == 3)
        for _ in 0..<3 {
            #expect(ledger.objection(to: 7, at: .zero) == nil)
            #expect(ledger.fault(of: 7, at: .zero) == .quarantined(coolDown: .seconds(30)))
        }
        #expect(ledger.objection(to: 7, at: .zero) == "the item is in quarantine, and still faults")
        #expect(ledger.objection(to: 8, at: .zero) == nil)
        #expect(ledger.takeDue(at: .seconds(30)) == 7)
        #expect(ledger.objection(to: 7, at: .seconds(31)) == nil, "it was put back")
        #expect(ledger.fault(of: 7, at: .seconds(31)) == .quarantined(coolDown: .seconds(60)))
        #expect(ledger.objection(to: 7, at: .seconds(31)) == nil, "it is counted from anew")
    }

    @Test func `It can be put back early, and forgiven`() {
        let ledger = Quarantine(Self.policy)
        #expect(!ledger.putBack(7, at: .zero))
        #expect(ledger.faultUntilOut(7, at: .zero) == 3)
        #expect(ledger.putBack(7, at: .seconds(1)))
        #expect(!ledger.putBack(7, at: .seconds(1)))
        #expect(ledger.fault(of: 7, at: .seconds(2)) == .quarantined(coolDown: .seconds(60)))
        ledger.forget(7)
        #expect(ledger.items == [])
        #expect(ledger.faultUntilOut(7, at: .seconds(3)) == 3)
    }

    @Test func `Several that are due come one by one, and the earliest end is told`() {
        let ledger = Quarantine(.default, faults: 1)
        for item in 1...3 { _ = ledger.fault(of: UInt64(item), at: .seconds(item)) }
        #expect(ledger.nextEnd == .seconds(31))
        var due: Set<UInt64> = []
        for _ in 0..<2 { due.insert(ledger.takeDue(at: .seconds(32))) }
        #expect(due == [1, 2])
        #expect(ledger.takeDue(at: .seconds(32)) == 0)
        #expect(ledger.nextEnd == .seconds(33))
    }

    @Test func `The numbers are those of the budget`() {
        let ledger = Quarantine(.default, faults: 2, window: .seconds(5))
        #expect(ledger.fault(of: 7, at: .zero) == .tolerated)
        #expect(ledger.fault(of: 7, at: .seconds(5)) == .tolerated, "another window")
        #expect(ledger.fault(of: 7, at: .seconds(9)) == .quarantined(coolDown: .seconds(30)))
    }

    @Test(arguments: [0, -1, Int.min])
    func `A limit below one is one`(faults: Int) {
        let ledger = Quarantine(.default, faults: faults)
        #expect(ledger.fault(of: 7, at: .zero) == .quarantined(coolDown: .seconds(30)))
    }

    @Test func `Items in quarantine are never forgotten for others; when there are only such, there is no room`() {
        let ledger = Quarantine(QuarantinePolicy(times: .forever), faults: 2)
        let room = UInt64(QuarantineLedger.capacity)
        for item in 1..<room { #expect(ledger.faultUntilOut(item, at: .zero) == 2) }
        // The one place that is left goes from hand to hand.
        for item in room...2 * room { #expect(ledger.fault(of: item, at: .zero) == .tolerated) }
        #expect(ledger.items == Array(1..<room))
        #expect(ledger.fault(of: 2 * room, at: .zero) == .quarantined(coolDown: nil))
        #expect(ledger.objection(to: 3 * room, at: .zero)?.contains("more items") == true)
        #expect(ledger.objection(to: 1, at: .zero) == nil)
        #expect(ledger.fault(of: 3 * room, at: .zero) == .tolerated)
        #expect(ledger.items.count == Int(room))
    }

    @Test func `Times out never overflow, however often one is tried`() {
        func time(_ first: Duration, _ longest: Duration, after round: Int) -> Duration? {
            QuarantinePolicy(times: BackOff(first: first, longest: longest)).coolDown(afterTrials: round)
        }
        #expect(time(.seconds(1), .seconds(Int64.max / 4), after: .max - 1) == .seconds(Int64.max / 4))
        #expect(time(.zero, .seconds(3600), after: .max - 1) == .zero)
        #expect(time(.seconds(-5), .seconds(3600), after: 3) == .zero)
        #expect(time(.seconds(30), .seconds(-1), after: 0) == .zero)
    }
}
