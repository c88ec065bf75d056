import Foundation
import Glibc
import ReportTestSupport
import SystemPackage
import Testing

@testable import CrashReports

/// A store holds no more than it may, and what it gives up first is what others say too.
@Suite(.timeLimit(.minutes(10))) struct StoreLimitsTests {
    private let temporary: TemporaryStore
    private var store: ReportStore { temporary.store }
    private let now = Timestamp(seconds: 1_795_243_212)

    init() throws {
        temporary = try TemporaryStore()
    }

    /// A report of a group, some days ago.
    private func report(_ group: String, daysAgo: Double) -> CrashReport {
        let time = now.adding(seconds: -daysAgo * 86400)
        var report = SampleReport.minimal(
            id: ReportID(time: time),
            reason: "\(group) \(daysAgo)",
            frames: [SampleReport.frame(0, group)]
        )
        report.timestamp = time
        report.occurrences = .init(count: 1, first: time, last: time)
        return report
    }

    /// Writes reports of groups, such as `("a", 3)` for one of `a` three days ago.
    private func fill(_ reports: [(String, Double)]) throws {
        for (group, days) in reports { try store.write(report(group, daysAgo: days)) }
    }

    /// What is left, the oldest first, as `group days`.
    private func left() throws -> [String] {
        try store.summaries(order: .oldestFirst).summaries.map(\.plainReason)
    }

    @Test func `The oldest duplicates go first, and the first and last of a group stay`() throws {
        try fill([("a", 9), ("a", 8), ("b", 7), ("a", 6), ("b", 5), ("b", 4), ("c", 3), ("a", 2), ("b", 1)])
        let planned = try store.prune(.init(reports: 7), dryRun: true, now: now)
        #expect(try left().count == 9)
        let outcome = try store.prune(.init(reports: 7), now: now)
        #expect(planned == outcome)
        #expect(outcome.removed.map(\.cause) == [.duplicate, .duplicate])
        #expect(outcome.keptReports == 7)
        #expect(outcome.removedBytes > 0)
        #expect(try left() == ["a 9.0", "b 7.0", "b 5.0", "b 4.0", "c 3.0", "a 2.0", "b 1.0"])
        #expect(try store.prune(.init(reports: 5), now: now).removed.map(\.cause) == [.duplicate, .duplicate])
        #expect(try left() == ["a 9.0", "b 7.0", "c 3.0", "a 2.0", "b 1.0"])
        #expect(store.verify(limits: .init(reports: 5)).findings.isEmpty)
        #expect(store.verify(limits: .init(reports: 4)).findings.map(\.kind) == [.overLimits])
    }

    @Test func `Without duplicates, the group goes that was seen last the longest ago`() throws {
        try fill([("a", 9), ("b", 7), ("c", 3), ("a", 2), ("b", 1)])
        let outcome = try store.prune(.init(reports: 3), now: now)
        #expect(outcome.removed.map(\.cause) == [.oldestGroup, .oldestGroup])
        #expect(try left() == ["b 7.0", "a 2.0", "b 1.0"])
        #expect(try store.prune(.init(reports: 0), now: now).keptReports == 0)
        #expect(try left().isEmpty)
    }

    @Test func `A limit of bytes counts the files`() throws {
        try fill([("a", 9), ("a", 8), ("a", 7), ("b", 6)])
        let bytes = try store.summaries().summaries.reduce(0) { sum, summary in
            sum + (try FileManager.default.attributesOfItem(atPath: summary.path)[.size] as? Int ?? 0)
        }
        #expect(try store.prune(.init(bytes: bytes), now: now).removed.isEmpty)
        let outcome = try store.prune(.init(bytes: bytes - 1), now: now)
        #expect(outcome.removed.count == 1)
        #expect(outcome.keptBytes + outcome.removedBytes == bytes)
        #expect(try left() == ["a 9.0", "a 7.0", "b 6.0"])
    }

    @Test func `What is too old goes, but not the first of a group that goes on`() throws {
        try fill([("a", 200), ("a", 150), ("b", 120), ("b", 110), ("a", 80), ("a", 1)])
        let outcome = try store.prune(.init(age: .seconds(90 * 86400)), now: now)
        #expect(outcome.removed.map(\.cause) == [.tooOld, .tooOld, .tooOld])
        #expect(try left() == ["a 200.0", "a 80.0", "a 1.0"])
    }

    @Test func `A report that was counted in is as young as its last occurrence`() throws {
        try fill([("a", 200)])
        let id = try #require(try store.last()?.id)
        try store.update(id) { $0.occurrences.last = now }
        #expect(try store.prune(.init(age: .seconds(90 * 86400)), now: now).removed.isEmpty)
    }

    @Test func `Whoever writes keeps the limits, without a look at each report`() throws {
        let limited = ReportStore(path: store.path, limits: .init(reports: 20))
        var most = 0
        for number in 0..<90 {
            try limited.write(report("group\(number % 4)", daysAgo: Double(90 - number) / 100))
            most = max(most, try left().count)
        }
        #expect(most == 20)
        #expect(try left().count >= 18)
        let groups = try store.groups().groups
        #expect(groups.count == 4)
        for number in 0..<4 {
            let reasons = try left().filter { $0.hasPrefix("group\(number) ") }
            #expect(reasons.first == "group\(number) \(Double(90 - number) / 100)")
        }
        #expect(store.verify().findings.isEmpty)
    }

    @Test func `What cannot be read goes first, and a report of a newer version is a group of its own`() throws {
        try fill([("a", 3), ("a", 2), ("b", 1)])
        let old = ReportID(time: now.adding(seconds: -10 * 86400))
        let young = ReportID(time: now.adding(seconds: 1))
        let damaged = ReportID(time: now)
        for id in [old, young] { try temporary.plant("{\"schemaVersion\": 99}".utf8, name: "\(id).json") }
        try temporary.plant("{".utf8, name: "\(damaged).json")
        #expect(try store.prune(.init(reports: 6), now: now).removed.isEmpty)
        let outcome = try store.prune(.init(reports: 4), now: now)
        #expect(outcome.removed.map(\.id) == [damaged, old])
        #expect(outcome.removed.map(\.cause.rawValue) == ["unreadable", "oldestGroup"])
        #expect(try left().count == 3)
        #expect(try store.prune(.init(reports: 1), now: now).removed.count == 3)
        #expect(try store.reportFiles().map(\.id) == [young])
    }

    @Test func `Whoever writes gives up no report for files that cannot be read, however young`() throws {
        try fill([("a", 9), ("b", 8), ("c", 7)])
        let names = (0..<12).map { ReportID(time: now.adding(seconds: Double(86400 + $0))) }
        for id in names { try temporary.plant("[".utf8, name: "\(id).json") }
        let limited = ReportStore(path: store.path, limits: .init(reports: 10))
        try limited.write(report("d", daysAgo: 1))
        #expect(try left() == ["a 9.0", "b 8.0", "c 7.0", "d 1.0"])
        #expect(try store.reportFiles().count == 9)
        try limited.write(report("e", daysAgo: 0))
        #expect(try left().count == 5)
    }

    @Test func `What is not this user's to remove stays`() throws {
        try fill([("a", 3)])
        let link = store.path(of: ReportID(time: now))
        #expect(symlink("/etc/hostname", link.string) == 0)
        #expect(try store.prune(.init(reports: 0), now: now).removed.count == 1)
        #expect(try store.summaries().problems.map(\.code) == [.symbolicLink])
    }

    @Test func `A store that does not exist has nothing to prune`() throws {
        #expect(try store.prune(.default).keptReports == 0)
        #expect(store.verify().findings.isEmpty)
    }

    // MARK: Folding

    @Test func `A crash loop makes a few reports and one with a count, whoever writes them`() throws {
        let folding = ReportStore.Folding(individual: 3, window: .seconds(300))
        var ids: [ReportID] = []
        for number in 0..<10 {
            // Another process each time: nothing is remembered but what the store says.
            let other = ReportStore(path: store.path)
            ids.append(try other.add(report("a", daysAgo: Double(100 - number) / 86400), folding: folding))
            try other.add(report("b\(number)", daysAgo: Double(100 - number) / 86400), folding: folding)
        }
        #expect(Set(ids[2...]).count == 1)
        let group = try #require(try store.groups(order: .mostFrequentFirst).groups.first)
        #expect(group.count == 10)
        #expect(group.reports == 3)
        #expect(group.first == now.adding(seconds: -100))
        #expect(group.last == now.adding(seconds: -91))
        #expect(try store.summaries(matching: .init(text: "B")).summaries.count == 10)
        // One that comes later than the window stands for itself.
        let late = report("a", daysAgo: -1000 / 86400)
        #expect(try store.add(late, folding: folding) == late.id)
        // One that is written once more takes its own place.
        #expect(try store.add(late, folding: folding) == late.id)
        #expect(try store.groups(order: .mostFrequentFirst).groups.first?.count == 11)
    }

    @Test func `A crash loop whose reports are made in any order makes no more of them`() throws {
        let folding = ReportStore.Folding(individual: 3, window: .seconds(300))
        // The last first, as the files of dead processes may come; and all of them mixed.
        for (group, numbers) in [("a", Array((0..<20).reversed())), ("b", (0..<20).map { $0 * 7 % 20 })] {
            for number in numbers {
                try store.add(report(group, daysAgo: Double(100 - number) / 86400), folding: folding)
            }
        }
        for group in try store.groups().groups {
            #expect(group.count == 20)
            #expect(group.reports == 3)
            #expect(group.first == now.adding(seconds: -100))
            #expect(group.last == now.adding(seconds: -81))
        }
    }

    @Test func `Faults that ended differently are not counted in each other`() throws {
        let folding = ReportStore.Folding(individual: 2, window: .seconds(300))
        for number in 0..<3 { try store.add(report("a", daysAgo: Double(9 - number) / 86400), folding: folding) }
        var other = report("a", daysAgo: 0)
        other.verdict = .init(decision: .resume, reason: "a reason")
        #expect(try store.add(other, folding: folding) == other.id)
        #expect(try store.summaries().summaries.count == 3)
    }
}
