import Foundation
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// Stalls among faults.
@Suite(.timeLimit(.minutes(10))) struct StallCommandTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore()
        try SampleStore.fill(temporary.store)
        try SampleStore.fillWithStalls(temporary.store)
    }

    private func run(_ arguments: [String]) throws -> ProgramRun {
        try ProgramRun.crashreport(arguments, environment: ["HOLDFAST_STORE": temporary.store.path.string])
    }

    @Test(arguments: [
        (["--kind", "stall"], 3), (["--kind", "fault"], 7), ([], 10),
        (["--kind", "stall", "--verdict", "wait"], 3), (["--kind", "fault", "--verdict", "wait"], 0),
        (["--kind", "stall", "--text", "sweep"], 2), (["--verdict", "wait"], 3),
    ])
    func `Kinds are told apart`(arguments: [String], count: Int) throws {
        let output = try run(["list", "--json"] + arguments).output
        #expect(try JSONDecoder().decode([ReportSummary].self, from: Data(output.utf8)).count == count)
    }

    @Test func `Every command that filters takes a kind`() throws {
        #expect(try run(["stats", "--kind", "stall"]).output.hasPrefix("5 stalls in 3 reports of 2 groups"))
        #expect(try run(["stats", "--kind", "fault"]).output.hasPrefix("47 faults in 7 reports of 3 groups"))
        #expect(try run(["stats"]).output.hasPrefix("47 faults and 5 stalls in 10 reports of 5 groups"))
        #expect(
            try run(["export", "--kind", "stall", "--format", "json-lines"]).output.split(separator: "\n").count == 3
        )
        #expect(try run(["report", "--kind", "stall", "--html", "-"]).exitCode == 0)
        let wrong = try run(["list", "--kind", "stal"])
        #expect(wrong.exitCode == 64)
        #expect(wrong.errors.contains("stall"))
    }

    @Test func `Groups of stalls know the longest, also from the index`() throws {
        for _ in 0..<2 {
            let output = try run(["list", "--group", "--json", "--kind", "stall"]).output
            let groups = try JSONDecoder().decode([ReportGroup].self, from: Data(output.utf8))
            #expect(groups.map(\.kind) == [.stall, .stall])
            #expect(groups.map(\.longest) == [12.5, 3.2])
            #expect(groups.map(\.count) == [1, 4])
        }
        let faults = try run(["list", "--group", "--json", "--kind", "fault"]).output
        #expect(!faults.contains("longest"))
        #expect(faults.contains("\"kind\" : \"fault\""))
    }

    @Test func `A store of stalls is sound`() throws {
        let result = try run(["verify"])
        #expect(result.exitCode == 0, "\(result.output)\(result.errors)")
    }

    @Test func `A stall is counted in the newest of many, and the longest is kept`() throws {
        let folding = ReportStore.Folding(individual: 2, window: .seconds(300))
        let store = temporary.store
        for number in 1...4 {
            let time = Timestamp(seconds: SampleStore.midnight + 9000 + Int64(number))
            var report = try SampleStore.stall(3, seconds: 9000 + Int64(number), length: number == 3 ? 9 : 1)
            report.id = ReportID(time: time)
            try store.add(report, folding: folding)
        }
        let output = try run(["list", "--json", "--since", "2026-11-21 02:29"]).output
        let summaries = try JSONDecoder().decode([ReportSummary].self, from: Data(output.utf8))
        #expect(summaries.map(\.occurrences.count) == [3, 1])
        let report = try store.load(summaries[0].id)
        #expect(report.stall?.length == 9)
        #expect(report.stall?.lengths.count == 3)
    }

    @Test func `A stall in words, for a file and for terminals`() throws {
        let masked = { (text: String) in
            text.replacing(/, [0-9]+ (seconds|minutes|hours|days) ago/, with: ", N days ago")
        }
        for name in ["v1-stall", "v1-ping"] {
            let path = Fixture.url("\(name).json").path
            try Snapshot.check(
                masked(try ProgramRun.crashreport(["show", path, "--full"]).output),
                "show-\(name).txt"
            )
        }
        let session = try TerminalSession(["show", Fixture.url("v1-stall.json").path, "--full"], width: 90)
        try Snapshot.check(masked(session.output), "show-v1-stall-90.txt")
        let brief = try TerminalSession(["show", Fixture.url("v1-stall.json").path], width: 80)
        try Snapshot.check(masked(brief.output), "show-v1-stall-brief-80.txt")
        let ascii = try TerminalSession(
            ["show", Fixture.url("v1-stall.json").path],
            width: 120,
            environment: ["LC_ALL": "C", "NO_COLOR": "1"]
        )
        #expect(ascii.output.utf8.allSatisfy { $0 == 10 || (0x20..<0x7f).contains($0) })
        let store = ["--store", temporary.store.path.string]
        try Snapshot.check(try TerminalSession(["list"] + store, width: 120).output, "stalls-list-120.txt")
        try Snapshot.check(try run(["list", "--group"]).output, "stalls-list-group.txt")
        try Snapshot.check(try run(["stats", "--per", "day"]).output, "stalls-stats.txt")
    }
}
