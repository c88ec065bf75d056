import Foundation
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports
@testable import ReportExports

/// Folded stacks, by the grammar that `flamegraph.pl` reads.
@Suite(.timeLimit(.minutes(10))) struct FoldedTests {
    private let folder: TemporaryFolder
    private let store: ReportStore

    init() throws {
        folder = try TemporaryFolder()
        store = ReportStore(path: FilePath(folder.path).appending("store"))
    }

    private func run(_ arguments: String...) throws -> ProgramRun {
        try ProgramRun.crashreport(arguments + ["--store", store.path.string])
    }

    private func lines(_ report: CrashReport) -> [String] {
        let bytes = FoldedStacks(report)?.bytes() ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func call(_ depth: Int, _ seconds: Double, _ function: String) -> CrashReport.Stall.Call {
        .init(depth: depth, seconds: seconds, samples: 1, address: HexAddress(0), function: function, isUserCode: true)
    }

    private func report(_ calls: [CrashReport.Stall.Call]) throws -> CrashReport {
        var report = try Fixture.report("v1-stall.json")
        report.stall?.profile = .init(samples: 1, seconds: 1, calls: calls)
        return report
    }

    @Test func `A line is a path with the milliseconds of its last call`() throws {
        let start = "mail-agent;timer retry queue;libc.so.6+0x2724a;main;HostRunLoop.serveTimer(_:);"
        let sweep = start + "closure #1 in RetryQueue.start();RetryQueue.sweep()"
        #expect(
            lines(try Fixture.report("v1-stall.json")) == [
                "\(sweep) 20", "\(sweep);Message.parse(_:) 20", "\(sweep);Message.parse(_:);Regex.firstMatch(in:) 300",
                "\(sweep);Message.parse(_:);Regex.firstMatch(in:);libswift_StringProcessing.so+0x8c0f4 900",
                "\(sweep);Message.parse(_:);Header.name.getter 240", "\(sweep);AuditLog.append(_:);write 360",
            ]
        )
    }

    @Test func `A short time is one millisecond, and no time is no line`() throws {
        let calls = [call(0, 0.0104, "main"), call(1, 0.0004, "short"), call(1, 0.01, "long"), call(1, 0, "never")]
        let lines = lines(try report(calls)).map { $0.replacing("mail-agent;timer retry queue;", with: "") }
        #expect(lines == ["main;short 1", "main;long 10"])
    }

    @Test func `The same path twice is one line`() throws {
        let calls = [call(0, 0.5, "main"), call(1, 0.25, "f"), call(1, 0.25, "f")]
        #expect(
            lines(try report(calls)).map { $0.replacing("mail-agent;timer retry queue;", with: "") } == ["main;f 500"]
        )
    }

    @Test func `Names cannot end an element or a line`() throws {
        var evil = try report([call(0, 1, "a;b\nc 7\u{1b}[2J\u{2028}"), call(1, 0.5, ""), call(1, 0.25, "  x  ")])
        evil.process.name = ";"
        evil.loop?.callout?.label = "\r\n;"
        let lines = lines(evil)
        #expect(lines.count == 3)
        for line in lines {
            #expect(line.wholeMatch(of: /[^;]+;[^;]+;[^;]+(;[^;]+)? [1-9][0-9]*/) != nil, "\(line)")
            for scalar in line.unicodeScalars { #expect(scalar.properties.generalCategory != .control) }
        }
        #expect(lines[1].contains(";? 500"))
        #expect(lines[2].hasSuffix(";x 250"))
    }

    @Test func `Deep and wide profiles are bounded`() throws {
        let deep = try report((0..<50_000).map { call($0, Double(50_000 - $0), String(repeating: "n", count: 1000)) })
        #expect(lines(deep).allSatisfy { $0.split(separator: ";").count <= 260 })
        #expect((FoldedStacks(deep)?.bytes().count ?? 0) < 200 << 20)
        let wide = try report([call(0, 9, "main")] + (0..<50_000).map { call(1, 1, "f\($0)") })
        #expect(lines(wide).count < 3000)
    }

    @Test func `What was pinged is named where a callout would be`() throws {
        var report = try report([call(0, 1, "main")])
        report.loop = nil
        report.stall?.label = "main queue"
        #expect(lines(report) == ["mail-agent;main queue;main 1000"])
    }

    @Test func `A report without a profile is told, and makes no file`() throws {
        var fault = RichReport.report()
        fault.id = ReportID(time: fault.timestamp.adding(seconds: -60))
        try store.write(fault)
        let none = try run("export", "last", "--format", "folded", "--output", "\(folder.path)/none.folded")
        #expect(none.exitCode == 1)
        #expect(none.errors.contains("\(fault.id) has no profile"))
        #expect(none.errors.contains("only stalls have a profile"))
        #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/none.folded"))
        let stall = try Fixture.report("v1-stall.json")
        try store.write(stall)
        try store.write(try Fixture.report("v1-ping.json"))
        let all = try run("export", "--all", "--format", "folded")
        #expect(all.exitCode == 0)
        #expect(all.errors == "crashreport: 2 reports have no profile and are left out\n")
        #expect(all.output == lines(stall).map { $0 + "\n" }.joined())
        #expect(
            try run("export", "--kind", "stall", "--format", "folded", "--output", "\(folder.path)/out/").exitCode == 0
        )
        let file = try String(contentsOfFile: "\(folder.path)/out/reports.folded", encoding: .utf8)
        #expect(file == all.output)
    }
}
