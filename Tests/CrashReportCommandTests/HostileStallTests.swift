import Foundation
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports
@testable import ReportText

/// Reports of stalls that somebody wrote to harm whoever reads them.
@Suite(.timeLimit(.minutes(10))) struct HostileStallTests {
    private let temporary: TemporaryStore
    private var store: ReportStore { temporary.store }

    init() throws {
        temporary = try TemporaryStore()
    }

    private func run(_ arguments: [String]) throws -> ProgramRun {
        try ProgramRun.crashreport(arguments + ["--store", store.path.string])
    }

    private static let commands = [
        ["list"], ["list", "--kind", "stall", "--json"], ["list", "--group"], ["show", "last"],
        ["show", "last", "--json"], ["stats"], ["stats", "--json"], ["diff", "last", "last"],
        ["export", "last", "--format", "sentry"], ["export", "last", "--format", "otlp"],
        ["export", "last", "--format", "apple"], ["export", "last", "--format", "folded"], ["report", "--html", "-"],
        ["verify"],
    ]

    /// Whatever is in the report, the commands end well and say nothing that controls a terminal.
    private func check(_ report: CrashReport) throws {
        try store.write(report)
        for arguments in Self.commands {
            let result = try run(arguments)
            #expect(result.exitCode == 0, "\(arguments) \(result.errors)")
            for scalar in (result.output + result.errors).unicodeScalars where scalar != "\n" {
                #expect(scalar.properties.generalCategory != .control, "\(arguments)")
                #expect(scalar.properties.generalCategory != .format, "\(arguments)")
            }
        }
    }

    @Test func `Words that are none of ours, and that would control the terminal`() throws {
        let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{2028}\r\nfake line</script><b>;x 9"
        var report = try CrashReport(json: try Fixture.bytes("v1-stall.json"))
        report.stall?.subject = .init(rawValue: evil)
        report.stall?.label = evil
        report.stall?.end = .init(rawValue: evil)
        report.stall?.activities = [
            .init(activity: .init(rawValue: evil), systemCall: evil, seconds: 1, samples: 1),
            .init(activity: .systemCall, systemCall: evil, seconds: 1, samples: 1),
        ]
        report.loop?.callout?.label = evil
        report.loop?.callout?.kind = .init(rawValue: evil)
        report.verdict.decision = .init(rawValue: evil)
        for index in report.stall?.profile?.calls.indices ?? 0..<0 {
            report.stall?.profile?.calls[index].function = "\(index)" + evil
            report.stall?.profile?.calls[index].file = "/" + evil
            report.stall?.profile?.calls[index].imageName = evil
        }
        report.explain()
        try check(report)
        #expect(try !run(["show", "last"]).output.contains("\nfake line"))
        for line in try run(["export", "last", "--format", "folded"]).output.split(separator: "\n") {
            #expect(line.wholeMatch(of: /[^;]+(;[^;]+)* [1-9][0-9]*/) != nil, "\(line)")
        }
    }

    @Test(arguments: [-1, -1e300, 0, 1e-300, 1e300, Double.greatestFiniteMagnitude])
    func `Times that are none`(seconds: Double) throws {
        var report = try CrashReport(json: try Fixture.bytes("v1-stall.json"))
        report.stall?.threshold = seconds
        report.stall?.length = seconds
        report.stall?.processorSeconds = seconds
        report.stall?.waitedForProcessorSeconds = seconds
        report.stall?.activities[0].seconds = seconds
        report.stall?.profile?.seconds = seconds
        for index in [0, 2, 4, 8] { report.stall?.profile?.calls[index].seconds = seconds }
        report.stall?.profile?.calls[4].lines = [
            .init(line: .min, seconds: seconds), .init(line: .max, seconds: seconds),
        ]
        report.stall?.lengths = .init(steps: [.init(upTo: seconds, count: .max), .init(upTo: nil, count: .max)])
        report.stall?.ticks?.smoothness = seconds
        report.stall?.ticks?.hitchRatio = seconds
        report.stall?.ticks?.lateness = .init(steps: [.init(upTo: seconds, count: .max)])
        report.explain()
        // A profile in which nothing took any time has no lines: then one path of it has to.
        report.stall?.profile?.calls[10].seconds = 0.5
        try check(report)
    }

    @Test(arguments: [Int.min, -1, .max])
    func `Numbers at the limits`(number: Int) throws {
        var report = try CrashReport(json: try Fixture.bytes("v1-stall.json"))
        report.stall?.number = number
        report.stall?.activities[0].samples = number
        report.stall?.profile?.samples = number
        report.stall?.profile?.callsOmitted = number
        for index in [1, 3, 5] {
            report.stall?.profile?.calls[index].depth = number
            report.stall?.profile?.calls[index].samples = number
        }
        report.stall?.ticks?.count = number
        report.stall?.ticks?.missed = number
        report.occurrences.count = number
        try check(report)
    }

    @Test(arguments: ["chain", "comb", "siblings"])
    func `A hundred thousand calls`(shape: String) throws {
        var report = try CrashReport(json: try Fixture.bytes("v1-stall.json"))
        report.stall?.profile?.calls = (0..<100_000).map { number in
            let depth =
                switch shape {
                case "chain": number
                // Paths that part again and again, each deeper than the last.
                case "comb": (number + 1) / 2
                default: min(number, 1)
                }
            return CrashReport.Stall.Call(
                depth: depth,
                seconds: Double(100_000 - number),
                samples: 1,
                address: HexAddress(UInt64(number)),
                isUserCode: true
            )
        }
        // As the store would write it, it is larger than a report can be.
        let file = temporary.directory.appending("large.json").string
        try Data(JSONText.line(report)).write(to: URL(fileURLWithPath: file))
        for arguments in [
            ["show", file], ["export", file, "--format", "folded"], ["export", file, "--format", "sentry"],
        ] {
            let result = try ProgramRun.crashreport(arguments)
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(result.output.utf8.count < 16 << 20)
        }
        #expect(ReportText(report).text().utf8.count < 100_000)
        #expect(!CrashReport.Diagnosis(of: report).summary.isEmpty)
        #expect(try CrashReport(json: try JSONText.line(report)).stall?.profile?.rows.count == 100_000)
    }

    @Test func `A kind without its section is refused, and a kind that is not known is shown`() throws {
        let text = String(decoding: try Fixture.bytes("v1-stall.json"), as: UTF8.self)
        for (word, missing) in [("\"kind\": \"stall\"", "\"stall\": {"), ("\"kind\": \"fault\"", "")] {
            let changed = text.replacing("\"kind\": \"stall\"", with: word)
            let bytes = Array((missing.isEmpty ? changed : changed.replacing(missing, with: "\"x\": {")).utf8)
            let error = #expect(throws: ReportFormatError.self) { try CrashReport(json: bytes) }
            #expect(error?.description.hasPrefix("the key \(missing.isEmpty ? "fault" : "stall") is missing") == true)
        }
        let unknown = text.replacing("\"kind\": \"stall\"", with: "\"kind\": \"flood\"")
        var report = try CrashReport(json: Array(unknown.utf8))
        #expect(report.kind.rawValue == "flood" && report.fault == nil && report.stall == nil)
        report.explain()
        #expect(try CrashReport(json: try report.json()) == report)
        try store.write(report)
        for arguments in [["show", "last"], ["list"], ["stats"], ["report", "--html", "-"]] {
            #expect(try run(arguments).exitCode == 0)
        }
        let folded = try run(["export", "last", "--format", "folded"])
        #expect(folded.exitCode == 1)
        #expect(folded.output == "")
    }
}
