import Testing

@testable import ProcessSupervisor

@Suite struct BackOffTests {
    private static let schedule: BackOffSchedule = {
        var schedule = BackOffSchedule()
        schedule.base = .milliseconds(100)
        schedule.cap = .seconds(60)
        schedule.healthyAfter = .seconds(10)
        return schedule
    }()

    @Test(arguments: [
        (0, 0), (1, 100), (2, 200), (3, 400), (9, 25_600), (10, 51_200), (11, 60_000), (1_000_000, 60_000),
    ])
    func `A wait doubles up to the cap`(earlyEnds: Int, milliseconds: Int) {
        #expect(Self.schedule.wait(afterEarlyEnds: earlyEnds, jitter: 0.5) == .milliseconds(milliseconds))
    }

    @Test func `Jitter moves a wait by a tenth, and never over the cap`() {
        func milliseconds(_ jitter: Double) -> Double {
            (Self.schedule.wait(afterEarlyEnds: 2, jitter: jitter) / .milliseconds(1)).rounded()
        }
        #expect(milliseconds(0) == 180)
        #expect(milliseconds(1) == 220)
        #expect(Self.schedule.wait(afterEarlyEnds: 20, jitter: 1) == .seconds(60))
        #expect(milliseconds(-7) == 180)
    }

    @Test func `Without a base there are no waits`() {
        var schedule = Self.schedule
        schedule.base = .zero
        #expect(schedule.wait(afterEarlyEnds: 50, jitter: 1) == .zero)
    }

    @Test func `Early failures count, and a success or a healthy process ends the row`() {
        var count = EndCount()
        count.note(lived: .seconds(1), isSuccess: false, Self.schedule)
        count.note(lived: .seconds(9), isSuccess: false, Self.schedule)
        #expect(count.earlyEnds == 2)
        count.note(lived: .seconds(1), isSuccess: true, Self.schedule)
        #expect(count.earlyEnds == 0)
        count.note(lived: .seconds(1), isSuccess: false, Self.schedule)
        count.note(lived: .seconds(10), isSuccess: false, Self.schedule)
        #expect(count.earlyEnds == 0)
    }

    @Test func `What a supervisor has counted outlives it as text`() {
        var count = EndCount()
        for _ in 0..<3 { count.note(lived: .zero, isSuccess: false, Self.schedule) }
        count.noteRestart()
        #expect(EndCount(text: count.text) == count)
    }

    @Test(arguments: [
        "", "early=", "early=-1", "early=99999999999999999999", "early=1e9", "\u{0}\u{0}", "restarts==2 early",
    ])
    func `A damaged count is none`(text: String) {
        #expect(EndCount(text: text) == EndCount())
    }
}
