import Foundation
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// Which reports are listed, and in which order and form.
@Suite(.timeLimit(.minutes(10))) struct FilterTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore()
        try SampleStore.fill(temporary.store)
    }

    private func run(_ arguments: [String]) throws -> ProgramRun {
        try ProgramRun.crashreport(arguments, environment: ["HOLDFAST_STORE": temporary.store.path.string])
    }

    /// The last digit of the process identifiers that are listed.
    private func numbers(_ arguments: [String]) throws -> [Int] {
        let output = try run(["list", "--json"] + arguments).output
        return try JSONDecoder().decode([ReportSummary].self, from: Data(output.utf8)).map { $0.pid - 4000 }
    }

    @Test(arguments: [
        (["--process", "mail-agent"], [7, 5, 4, 2, 1]), (["--signal", "SEGV"], [6, 3]),
        (["--signal", "sigsegv"], [6, 3]),
        (["--signal", "11"], [6, 3]), (["--verdict", "restart"], [6, 3]), (["--verdict", "Terminate"], [5]),
        (["--fingerprint", "v2-1"], [7, 4, 2, 1]), (["--fingerprint", "1111"], [7, 4, 2, 1]),
        (["--text", "DOUBLE free"], [5]), (["--text", "cache.evict"], [5]), (["--tag", "region=us-2"], [7, 5, 3, 1]),
        (["--tag", "region=us-2", "--tag", "region=us-2"], [7, 5, 3, 1]),
        (["--since", "2026-11-21"], [7, 6]), (["--since", "2026-11-21 01:30"], [7]),
        (["--since", "2026-11-20T20:00:00Z", "--until", "@1795219200"], [5, 4]), (["--until", "2026-11-19"], [1]),
        (["--verdict", "resume", "--limit", "2"], [7, 4]), (["--limit", "0"], [7, 6, 5, 4, 3, 2, 1]),
        (["--sort", "oldest", "--limit", "3"], [1, 2, 3]), (["--sort", "count", "--limit", "1"], [4]),
    ])
    func `A filter lets through what fits`(arguments: [String], expected: [Int]) throws {
        #expect(try numbers(arguments) == expected)
    }

    @Test func `Two values of one tag are refused`() throws {
        let result = try run(["list", "--tag", "region=us-2", "--tag", "region=eu-1"])
        #expect(result.exitCode == 64)
        #expect(result.errors.contains("No report has two values of one tag."))
    }

    @Test func `A fault that is only counted is found by its own id and by what its caller knew`() throws {
        let sample = try #require(try temporary.store.summaries().summaries.first { $0.pid == 4004 })
        // The first of them a moment before the fault that has the report, on another thread.
        let others = (1...40).map { number in
            let time = sample.occurrences.first.adding(seconds: Double(number - 1) - 0.0004)
            return CrashReport.Occurrences.Other(
                id: ReportID(time: time),
                time: time,
                tags: ["request.id": "r\(number)", "sneaky": "\u{1B}[2J"]
            )
        }
        _ = try temporary.store.update(sample.id) { $0.list(others) }
        #expect(try numbers(["--where", "request.id=r17"]) == [4])
        #expect(try run(["list", "--where", "request.id=r41"]).exitCode == 1)
        // Both of one fault, not one of each of two.
        #expect(try run(["list", "--where", "request.id=r17", "--where", "sneaky=no"]).exitCode == 1)
        let shown = try run(["show", others[16].id.rawValue])
        #expect(shown.exitCode == 0 && shown.output.contains(sample.id.rawValue))
        #expect(shown.errors.contains("\(others[16].id) was counted in this report of an equal fault"))
        #expect(try run(["show", others[0].id.rawValue]).exitCode == 0)
        #expect(shown.errors.contains("request.id=r17") && !shown.errors.contains("\u{1B}"))
    }

    @Test func `Nothing that fits is told from nothing at all`() throws {
        let result = try run(["list", "--process", "nobody"])
        #expect(result.exitCode == 1)
        #expect(result.errors == "crashreport: no crash report in \(temporary.store.path) fits the filters\n")
        #expect(try run(["stats", "--process", "nobody"]).exitCode == 1)
    }

    @Test func `Lines of JSON are the objects of the array`() throws {
        let array = try JSONDecoder().decode([ReportSummary].self, from: Data(run(["list", "--json"]).output.utf8))
        let lines = try run(["list", "--json-lines"]).output.split(separator: "\n")
        let objects = try lines.map { try JSONDecoder().decode(ReportSummary.self, from: Data($0.utf8)) }
        #expect(objects == array)
        #expect(objects.count == 7)
    }

    @Test func `Groups are counted`() throws {
        let output = try run(["list", "--group", "--sort", "count", "--json"]).output
        let groups = try JSONDecoder().decode([ReportGroup].self, from: Data(output.utf8))
        #expect(groups.map(\.count) == [44, 2, 1])
        #expect(groups.map(\.fingerprint.rawValue.last) == ["1", "2", "3"])
        #expect(try run(["list", "--group", "--limit", "1", "--json-lines"]).output.split(separator: "\n").count == 1)
    }

    @Test func `Statistics for programs have every fault in a stretch of time`() throws {
        struct Answer: Decodable {
            struct Stretch: Decodable { var start: Timestamp, count: Int }
            var unit: String
            var timeline: [Stretch]
            var groups: [ReportGroup]
        }
        func answer(_ arguments: [String]) throws -> Answer {
            try JSONDecoder().decode(Answer.self, from: Data(run(["stats", "--json"] + arguments).output.utf8))
        }
        let all = try answer([])
        #expect(all.unit == "day")
        #expect(all.timeline.reduce(0) { $0 + $1.count } == 47)
        #expect(all.timeline.first?.start.brief == "2026-11-15 00:00:00")
        #expect(all.groups.count == 3)
        let hours = try answer(["--since", "2026-11-20 19:00", "--per", "hour"])
        // 41 faults from 19:00 to 21:00: the day's other one was at 20:00.
        #expect(hours.timeline.map(\.count) == [14, 14, 14, 0, 0, 0, 1, 1])
        #expect(try answer(["--process", "nobody"]).timeline.isEmpty)
    }

    @Test func `A unit that makes too many bars is replaced by one that is told`() throws {
        let result = try run(["stats", "--per", "minute", "--since", "2026-10-01", "--until", "2026-11-22"])
        #expect(result.exitCode == 0)
        #expect(result.errors == "crashreport: a bar per minute makes more than 10000: one per day instead\n")
        #expect(result.output.contains("Faults per day"))
        #expect(try run(["stats", "--per", "minute", "--since", "2026-11-20"]).errors == "")
    }

    @Test(arguments: [
        (["list", "--signal", "SIGSEV"], "SIGSEGV"), (["list", "--verdict", "resmue"], "resume"),
        (["list", "--sort", "newst"], "newest"), (["list", "--group", "--sort", "conut"], "count"),
        (["stats", "--per", "dya"], "day"), (["lits"], "crashreport --help"), (["list", "--kind", "all"], "stall"),
        (["list", "--procss", "x"], "--process"), (["list", "--tag", "a=1", "--tag", "a=2"], "two values"),
        (["list", "--since", "soon"], "yesterday"),
        (["list", "--tag", "region"], "region=eu-1"), (["prune", "--older-than", "old"], "30d"),
        (["prune", "--max-bytes", "1 stone"], "50M"), (["show", "last", "--json", "--raw"], "exclude each other"),
        (["list", "--since", "1h", "--until", "2h"], "before"),
    ])
    func `What was mistyped is answered with what can be typed`(arguments: [String], hint: String) throws {
        let result = try run(arguments)
        #expect(result.exitCode == 64)
        #expect(result.output == "")
        #expect(result.errors.contains(hint), "\(result.errors)")
    }

    @Test func `Identifiers that could be meant are listed`() throws {
        let reports = try SampleStore.reports()
        let ambiguous = try run(["show", "01a1"])
        #expect(ambiguous.exitCode == 66)
        for report in reports { #expect(ambiguous.errors.contains(report.id.rawValue)) }
        #expect(try run(["show", "ffffffffffff"]).exitCode == 66)
    }
}
