import Foundation
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports
@testable import ReportText

/// Reports that somebody wrote to harm whoever reads them.
@Suite(.timeLimit(.minutes(10))) struct HostileReportTests {
    private let temporary: TemporaryStore
    private var store: ReportStore { temporary.store }

    init() throws {
        temporary = try TemporaryStore()
    }

    private func run(_ arguments: [String]) throws -> ProgramRun {
        try ProgramRun.crashreport(arguments + ["--store", store.path.string])
    }

    /// Every way to look at what is in a store, but for `watch`, which does not end.
    private static let commands = [
        ["list"], ["list", "--json"], ["list", "--json-lines"], ["list", "--group"], ["list", "--group", "--json"],
        ["show", "last"], ["show", "last", "--all-threads"], ["show", "last", "--json"], ["stats"],
        ["stats", "--json"],
        ["diff", "last", "last"], ["diff", "last", "last", "--json"], ["path", "last"], ["verify"],
        ["prune", "--dry-run"],
    ]

    @Test(arguments: Fixture.reports)
    func `Nothing in a report controls the terminal`(name: String) throws {
        let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{2028}\r\nfake line"
        let fixture = String(decoding: try Fixture.bytes(name), as: UTF8.self)
        // Into every string that may be anything.
        let object = try JSONSerialization.jsonObject(with: Data(fixture.utf8))
        let report = try CrashReport(json: Array(JSONSerialization.data(withJSONObject: poisoned(object, with: evil))))
        #expect(report.reason.contains(evil))
        try store.write(report)
        for arguments in Self.commands {
            let result = try run(arguments)
            #expect(result.exitCode == 0)
            for scalar in (result.output + result.errors).unicodeScalars where scalar != "\n" {
                #expect(scalar.properties.generalCategory != .control)
                #expect(scalar.properties.generalCategory != .format)
                #expect(scalar.properties.generalCategory != .lineSeparator)
            }
            #expect(!result.output.contains("\nfake line"))
        }
    }

    @Test func `Numbers at the limits are shown`() throws {
        var report = try CrashReport(json: try Fixture.bytes("v1-everything.json"))
        for number in [Int.max, .min, -1] {
            report.thread.framesOmitted = number
            report.thread.frames[1].image = number
            report.thread.frames[1].line = number
            report.thread.frames[1].functionOffset = number
            report.thread.frames[4].index = number
            report.occurrences.count = number
            report.threadsOmitted = number
            report.otherThreads[0].framesOmitted = number
            report.otherThreads[0].sampledAfter = Double(number) * 1e280
            report.context?.breadcrumbsLost = number
            report.context?.memory?.resident = number
            report.context?.memory?.systemTotal = number
            report.context?.descriptors?.limit = number
            report.context?.load = [Double(number) * 1e280]
            report.context?.container?.processorLimit = Double(number) * 1e280
            report.context?.container?.memoryLimit = number
            report.context?.limits["x"] = .init(soft: number, hard: number)
            report.context?.threadCount = number
            report.fault?.instructions?.address = HexAddress(UInt64(bitPattern: Int64(number)))
            report.fault?.instructions?.bytes = "0"
            report.fault?.signal.number = number
            report.process.uptimeSeconds = Double(number) * 1e280
            try store.write(report)
            for arguments in Self.commands { #expect(try run(arguments).exitCode == 0, "\(arguments)") }
        }
    }

    @Test(arguments: 0..<8)
    func `Any bytes end in a documented status`(seed: UInt64) throws {
        var generator = SplitMix(state: seed)
        let fixture = try Fixture.bytes(["v1-plain.json", "v1-everything.json", "v1-stall.json"][Int(seed % 3)])
        let id = "01a1fcd57d5b8f3e7b21d4a6905c1e77"
        for _ in 0..<6 {
            try temporary.plant(mutated(fixture, using: &generator), name: "\(id).json")
            for arguments in [["list"], ["show", "last"], ["show", id, "--json"]] {
                let result = try run(arguments)
                #expect([0, 65].contains(result.exitCode), "\(result.errors)")
                #expect(!result.output.contains("\u{1b}"))
                #expect(!result.errors.contains("\u{1b}"))
            }
        }
    }

    @Test(arguments: 0..<8)
    func `Any bytes are a report or an error`(seed: UInt64) throws {
        var generator = SplitMix(state: seed + 1000)
        let fixture = try Fixture.bytes(["v1-plain.json", "v1-everything.json", "v1-stall.json"][Int(seed % 3)])
        var reports = 0
        for _ in 0..<250 {
            let bytes = mutated(fixture, using: &generator)
            guard let report = try? CrashReport(json: bytes) else { continue }
            reports += 1
            var shown = ReportText(report)
            shown.excerpt = { SourceExcerpt(path: $0, line: $1, context: 1) }
            let text = shown.text()
            let summary = ReportSummary(report, in: ReportStore(path: "/"))
            let table = ReportTable([summary])
            #expect(ReportLine(summary).text().split(separator: "\n").count == 1)
            #expect(!text.unicodeScalars.contains("\u{1b}"))
            for width in [nil, 0, 1, 40, 200] {
                let lines = table.text(TextLayout(width: width)).split(separator: "\n")
                #expect(lines.allSatisfy { $0.count <= width ?? .max })
            }
            #expect(try CrashReport(json: try report.json()) == report)
        }
        // Otherwise the mutations are too wild to say anything.
        #expect(reports > 10)
    }

    /// Flips bits, and cuts, repeats and replaces bytes.
    private func mutated(_ bytes: [UInt8], using generator: inout SplitMix) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
            let index = Int.random(in: 0..<bytes.count, using: &generator)
            switch Int.random(in: 0..<8, using: &generator) {
            case 0: bytes.removeSubrange(index..<min(bytes.count, index + 9))
            case 1: bytes.insert(contentsOf: bytes[index..<min(bytes.count, index + 40)], at: index)
            case 2: bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
            case 3: bytes.insert(contentsOf: "99999999999".utf8, at: index)
            default: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            }
            if bytes.isEmpty { bytes = [0] }
        }
        return bytes
    }

    /// The object with text added to every string that has no form of its own.
    private func poisoned(_ value: Any, with text: String, key: String = "") -> Any {
        let fixed = [
            "timestamp", "fingerprint", "first", "last", "startTime", "address", "imageOffset", "base", "start", "end",
            "time", "begin",
        ]
        if let object = value as? [String: Any] {
            if key == "registers" { return object.merging([text: "0x0"]) { $1 } }
            var changed = object.reduce(into: [String: Any]()) {
                $0[$1.key] = poisoned($1.value, with: text, key: $1.key)
            }
            if object["schemaVersion"] != nil || key == "others" { changed["id"] = object["id"] }
            if ["annotations", "tags", "environment"].contains(key) { changed[text] = text }
            if key == "limits" { changed[text] = ["soft": 1] }
            return changed
        }
        if let array = value as? [Any] { return array.map { poisoned($0, with: text, key: key) } }
        guard let string = value as? String, !fixed.contains(key) else { return value }
        return string + text
    }
}
