import Testing

@testable import StallDetection

/// What items may take is the time of their own callouts.
@Suite struct StallPatienceTests {
    private static let allowed = StallPolicy.Item(threshold: .nanoseconds(1000))

    @Test func `Without a policy of the item a stall is one at once`() {
        var patience = StallPatience(begin: 0)
        #expect(patience.left(1, nil, at: 250) == nil)
    }

    @Test func `An item's time runs from the beginning of the busy period, for its first callout`() {
        var patience = StallPatience(begin: 100)
        #expect(patience.left(1, Self.allowed, at: 350) == 750)
        #expect(patience.left(1, Self.allowed, at: 1099) == 1)
        #expect(patience.left(1, Self.allowed, at: 1100) == nil)
    }

    @Test func `A callout that follows has its own time, or none to spare`() {
        var patience = StallPatience(begin: 0)
        #expect(patience.left(1, Self.allowed, at: 500) == 500)
        #expect(patience.left(2, Self.allowed, at: 900) == 1000)
        #expect(patience.left(3, nil, at: 950) == nil)
    }

    @Test func `What may take any time is none however long it lasts`() {
        var patience = StallPatience(begin: 0)
        #expect(patience.left(1, .ignored, at: 86_400_000_000_000 * 365) != nil)
    }
}
