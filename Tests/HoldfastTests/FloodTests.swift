import CrashReports
import TestSupport
import Testing

@testable import Holdfast

/// Many faults while no report can be written.
@Suite(.timeLimit(.minutes(5))) struct FloodTests {
    /// More than there are slots.
    private static let count = 700

    @Test func `Equal faults share a slot, so that a disk that stands still does not end the process`() throws {
        let run = try HostRun("flood", "equal", "\(Self.count)")
        #expect(try run.lines().filter { $0 != "writing" } == ["resumed \(Self.count)"])
        #expect(try run.process.wait() == .exited(0))
        // What the process left in the spool is finished by this.
        _ = try run.store.list()
        let reports = try run.store.reports()
        #expect(reports.reduce(0) { $0 + $1.occurrences.count } == Self.count)
        #expect(reports.allSatisfy { $0.verdict.decision == .resume })
        #expect(reports.allSatisfy { $0.occurrences.first <= $0.occurrences.last })
        #expect(try run.store.violations().texts == [])
    }

    @Test func `The fault that finds no room restarts the process, and its report says so`() throws {
        let run = try HostRun("flood", "different", "\(Self.count)")
        #expect(try run.lines() == ["restarted"])
        #expect(try run.process.wait() == .exited(0))
        _ = try run.store.list()
        let reports = try run.store.reports()
        // All 256 slots but the last are for faults that go on.
        #expect(reports.reduce(0) { $0 + $1.occurrences.count } == 256)
        let last = try #require(reports.max { $0.timestamp < $1.timestamp })
        #expect(last.loop?.callout?.label == "item bbbbbbbb")
        #expect(last.verdict.decision == .restart)
        #expect(last.verdict.reason == "reports cannot be written in time: there is no room for the next record")
        #expect(last.occurrences.count == 1)
        #expect(reports.count { $0.verdict.decision == .restart } == 1)
    }
}
