import Testing

@testable import StallDetection

/// What looks at something make of it.
@Suite struct StallDetectorTests {
    private typealias Sight = StallDetector.Sight

    private static func busy(_ number: UInt64) -> Sight { Sight(number: number, isBusy: true) }
    private static func resting(_ number: UInt64) -> Sight { Sight(number: number, isBusy: false) }

    @Test func `A busy period becomes a stall once, when it has lasted long enough, and is over once`() {
        var detector = StallDetector(count: 1, threshold: 100)
        #expect(detector.look(Self.busy(1), at: 1000) == nil)
        #expect(detector.look(Self.busy(1), at: 1099) == nil)
        #expect(!detector.isStalled)
        #expect(detector.look(Self.busy(1), at: 1100) == .stalled)
        #expect(detector.isStalled && detector.begin == 1000)
        #expect(detector.look(Self.busy(1), at: 5000) == nil)
        #expect(detector.look(Self.resting(2), at: 5001) == .over)
        #expect(detector.look(Self.resting(2), at: 9000) == nil)
    }

    @Test func `Busy periods that follow each other are none together`() {
        var detector = StallDetector(count: 1, threshold: 100)
        for number in 1...100 {
            #expect(detector.look(Self.busy(UInt64(number)), at: Int64(number) * 99) == nil)
            #expect(detector.look(Self.busy(UInt64(number)), at: Int64(number) * 99 + 98) == nil)
        }
    }

    @Test func `A wait or a rest is none, however long`() {
        var detector = StallDetector(count: 1, threshold: 100)
        #expect(detector.look(Self.resting(1), at: 0) == nil)
        #expect(detector.look(Self.resting(1), at: 1_000_000) == nil)
        // Not even the time before a busy period.
        #expect(detector.look(Self.busy(2), at: 1_000_001) == nil)
        #expect(detector.look(Self.busy(2), at: 1_000_100) == nil)
        #expect(detector.look(Self.busy(2), at: 1_000_101) == .stalled)
    }

    @Test func `A stall that another busy period follows is over, and that one may stall, too`() {
        var detector = StallDetector(count: 1, threshold: 100)
        #expect(detector.look(Self.busy(1), at: 0) == nil)
        #expect(detector.look(Self.busy(1), at: 100) == .stalled)
        #expect(detector.look(Self.busy(2), at: 150) == .over)
        #expect(detector.number == 2)
        #expect(detector.look(Self.busy(2), at: 249) == nil)
        #expect(detector.look(Self.busy(2), at: 250) == .stalled)
    }

    @Test func `So many looks must find it, and in the time that the process ran`() {
        var detector = StallDetector(count: 3, threshold: 30)
        #expect(detector.look(Self.busy(1), at: 0) == nil)
        // One that came late is one.
        #expect(detector.look(Self.busy(1), at: 40) == nil)
        #expect(detector.look(Self.busy(1), at: 50) == nil)
        #expect(detector.look(Self.busy(1), at: 60) == .stalled)
        // The process stood still between the looks.
        #expect(detector.look(Self.busy(2), at: 100) == .over)
        for _ in 0..<10 { #expect(detector.look(Self.busy(2), at: 110) == nil) }
        #expect(detector.look(Self.busy(2), at: 130) == .stalled)
    }

    @Test func `A threshold is the time between the looks of its rule`() {
        #expect(StallRule.once().threshold == .milliseconds(250))
        #expect(StallRule.once(after: .milliseconds(100)).interval == .milliseconds(25))
        #expect(StallRule.checks().threshold == .milliseconds(240))
        #expect(StallRule.checks(5, every: .milliseconds(10)).threshold == .milliseconds(50))
        // What would look all the time is made less eager.
        #expect(StallRule.once(after: .zero).threshold == .milliseconds(1))
        #expect(StallRule.checks(0, every: .seconds(-1)).count == 1)
        #expect(StallRule.checks(.max, every: .seconds(Int64.max)).threshold == .seconds(86_400_000_000))
        #expect(StallRule.checks(0, every: .seconds(-1)).interval == .microseconds(250))
    }
}

/// A clock that stands still while the process does.
@Suite struct RunningClockTests {
    @Test func `It goes on with threads that wake a little late`() {
        var clock = RunningClock()
        #expect(clock.time(at: 1_000) == 1_000)
        clock.slept(from: 500, until: 1_000, now: 1_000 + RunningClock.patience)
        #expect(clock.stoodStill == 0)
        // Woken before it was to end.
        clock.slept(from: 500, until: 1_000, now: 600)
        #expect(clock.stoodStill == 0)
    }

    @Test func `It stands still in the whole of a sleep that was much too long`() {
        var clock = RunningClock()
        let stop: Int64 = 10_000_000_000
        clock.slept(from: 400, until: 1_000, now: 1_000 + stop)
        #expect(clock.stoodStill == stop + 600)
        #expect(clock.time(at: 1_000 + stop) == 400)
        clock.slept(from: 2_000 + stop, until: 2_500 + stop, now: 2_500 + 2 * stop)
        #expect(clock.stoodStill == 2 * stop + 1100)
    }

    @Test func `What ended before the last stop has nothing of it, and still has not after another sleep`() {
        var clock = RunningClock()
        let stop: Int64 = 10_000_000_000
        clock.slept(from: 400, until: 1_000, now: 1_000 + stop)
        for _ in 0..<2 {
            #expect(clock.stoodStill(until: 900) == 0)
            #expect(clock.stoodStill(until: 900 + stop) == stop + 600)
            clock.slept(from: 1_000 + stop, until: 1_100 + stop, now: 1_100 + stop)
        }
    }
}
