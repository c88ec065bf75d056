import Glibc
import RunLoops
import Synchronization
import Testing

@testable import StallDetection

/// When a callout is late, by looks at times that are made up.
@Suite(.timeLimit(.minutes(10))) struct WatchedDeadlineTests {
    /// A loop whose thread is in a callout until it is told otherwise, and what is said of that.
    private final class StuckLoop: Sendable {
        let thread: HostRunLoop.LoopThread
        let table: DeadlineTable
        private let isOver = Atomic<Bool>(false)
        private let late = Mutex<[CalloutDeadline]>([])

        init(_ deadline: CalloutDeadline?) throws {
            thread = try HostRunLoop.LoopThread(name: "stuck")
            table = DeadlineTable(deadline)
            thread.loop.perform { [self] in
                while !isOver.load(ordering: .acquiring) { sched_yield() }
            }
            while thread.loop.progress.callout?.isInCallout != true { sched_yield() }
        }

        var lateCount: Int { late.withLock { $0.count } }
        var item: UInt64 { thread.loop.progress.callout?.item ?? 0 }

        func watch() -> WatchedDeadline {
            WatchedDeadline(thread.loop, table) { [self] _, _, deadline in late.withLock { $0.append(deadline) } }
        }

        func end() {
            isOver.store(true, ordering: .releasing)
            thread.stop()
            thread.join()
        }
    }

    private static let deadline = CalloutDeadline(after: .milliseconds(100))

    private func look(_ watched: WatchedDeadline, at milliseconds: Int64, _ clock: RunningClock = RunningClock()) {
        _ = watched.look(at: milliseconds * 1_000_000, clock, number: { 0 }, perform: { _ in })
    }

    @Test func `A callout is late a deadline after it was first seen, and that is told once`() throws {
        let stuck = try StuckLoop(Self.deadline)
        let watched = stuck.watch()
        for time in [1000, 1050, 1099] as [Int64] { look(watched, at: time) }
        #expect(stuck.lateCount == 0)
        #expect(watched.due == 1_100_000_000, "not a quarter of the deadline later")
        look(watched, at: 1100)
        #expect(stuck.lateCount == 1)
        for time in [1101, 1200, 9000] as [Int64] { look(watched, at: time) }
        #expect(stuck.lateCount == 1)
        stuck.end()
        look(watched, at: 9001)
        #expect(stuck.lateCount == 1)
    }

    @Test func `Time in which the process stood still does not count`() throws {
        let stuck = try StuckLoop(Self.deadline)
        let watched = stuck.watch()
        var clock = RunningClock()
        look(watched, at: 1000, clock)
        clock.slept(from: 1_000_000_000, until: 1_025_000_000, now: 5_000_000_000)
        look(watched, at: 5000, clock)
        look(watched, at: 5099, clock)
        #expect(stuck.lateCount == 0)
        look(watched, at: 5100, clock)
        #expect(stuck.lateCount == 1)
        stuck.end()
    }

    @Test func `An item's own deadline counts before the usual one`() throws {
        for (usual, own, isLate) in [(nil, Self.deadline, true), (Self.deadline, .never, false)]
            as [(CalloutDeadline?, CalloutDeadline, Bool)]
        {
            let stuck = try StuckLoop(usual)
            stuck.table.set(own, forItem: stuck.item)
            let watched = stuck.watch()
            look(watched, at: 1000)
            look(watched, at: 100_000)
            #expect((stuck.lateCount == 1) == isLate)
            stuck.end()
        }
    }

    @Test func `A loop is looked at four times within the shortest deadline, and ten times a second`() {
        let table = DeadlineTable(CalloutDeadline(after: .seconds(60)))
        #expect(table.interval == 100_000_000)
        table.set(CalloutDeadline(after: .milliseconds(80)), forItem: 1)
        #expect(table.interval == 20_000_000)
        #expect(table.own(ofItem: 1) == CalloutDeadline(after: .milliseconds(80)))
        table.set(nil, forItem: 1)
        #expect(table.interval == 100_000_000 && table.own(ofItem: 1) == nil)
        #expect(DeadlineTable(CalloutDeadline(after: .zero)).interval == 250_000, "a millisecond at least")
    }
}
