import Foundation
import Glibc
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// The index says what the files say, whatever happened to either.
@Suite(.timeLimit(.minutes(10))) struct StoreIndexTests {
    private let temporary: TemporaryStore
    private var store: ReportStore { temporary.store }
    private var index: FilePath { store.reportsPath.appending(".index") }

    init() throws {
        temporary = try TemporaryStore()
    }

    private func report(_ number: Int, time: Timestamp? = nil) -> CrashReport {
        let time = time ?? Timestamp(seconds: 1_795_000_000 + Int64(number))
        var report = SampleReport.minimal(
            id: ReportID(time: time),
            reason: "reason \(number % 7) é",
            frames: [SampleReport.frame(0, "function\(number % 5)")]
        )
        report.timestamp = time
        report.occurrences = .init(count: 1 + number % 3, first: time, last: time.adding(seconds: 1))
        report.process.name = "agent\(number % 3)"
        if number % 2 == 0 { report.process.buildID = "abcdef\(number % 4)" }
        if number % 4 == 0 { report.context = .init(tags: ["region": "eu-\(number % 8)", "é:1": ""]) }
        return report
    }

    /// What the files say, the newest first.
    private func scanned() throws -> [ReportSummary] {
        let names = try FileManager.default.contentsOfDirectory(atPath: store.reportsPath.string)
        return names.filter { $0.hasSuffix(".json") }.sorted(by: >).compactMap { name in
            let path = store.reportsPath.appending(name)
            guard let data = FileManager.default.contents(atPath: path.string),
                let report = try? CrashReport(json: Array(data))
            else { return nil }
            return ReportSummary(report, in: store)
        }
    }

    private func fill(_ count: Int) throws {
        for number in 0..<count { try store.write(report(number)) }
    }

    @Test func `A list without an index makes one, and lists the same with it`() throws {
        try fill(40)
        try FileManager.default.removeItem(atPath: index.string)
        let before = try store.summaries()
        #expect(FileManager.default.fileExists(atPath: index.string))
        #expect(try store.summaries() == before)
        #expect(try before.summaries == scanned())
        #expect(before.summaries.count == 40)
    }

    @Test func `What the index knows is not read`() throws {
        try fill(3)
        let wanted = try scanned()
        // Bytes change, but not the file: nobody of this package does that, and nobody else should.
        for summary in wanted {
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: summary.path))
            try file.write(contentsOf: Data("not JSON".utf8))
            try file.close()
        }
        #expect(try store.summaries().summaries == wanted)
        #expect(try store.summaries(limit: 3).summaries == wanted)
        // Whoever checks reads all.
        #expect(store.verify().findings.count { $0.kind == .damagedReport } == 3)
    }

    @Test(arguments: 0..<6)
    func `After any sequence of changes, a list says what the files say`(seed: UInt64) throws {
        var generator = SplitMix(state: seed)
        try store.create()
        var number = 0
        for step in 0..<80 {
            let names = try FileManager.default.contentsOfDirectory(atPath: store.reportsPath.string)
                .filter { $0.hasSuffix(".json") }.sorted()
            let ids = names.compactMap { ReportID(rawValue: String($0.dropLast(5))) }
            let id = ids.randomElement(using: &generator)
            switch Int.random(in: 0..<20, using: &generator) {
            case 0..<7:
                number += 1
                try store.write(report(number))
            case 7..<10:
                if let id { _ = try? store.update(id) { $0.occurrences.count += 1 } }
            case 10:
                if let id { unlink(store.path(of: id).string) }
            case 11:
                if let id {
                    var other = report(number + 1000)
                    other.id = id
                    try replace(id, with: try other.json())
                    // Who changes a file by hand, and lists it, is not told what was before.
                    _ = try store.summaries()
                }
            case 12:
                if let id { try replace(id, with: Array("{".utf8)) }
            case 13: _ = try store.prune(.init(reports: 12))
            case 14: unlink(index.string)
            case 15: try damage(&generator)
            case 16: try moveAway()
            case 17:
                number += 1
                _ = try ReportStore(path: store.path, limits: .init(reports: 10)).add(
                    report(number, time: .now),
                    folding: .init(individual: 2, window: .seconds(60))
                )
            case 18: _ = store.verify(repair: true)
            default: break
            }
            let listing = try store.summaries()
            let files = try scanned()
            #expect(listing.summaries == files, "after step \(step)")
            #expect(try store.summaries(limit: 5).summaries == Array(files.prefix(5)), "after step \(step)")
            guard listing.summaries == files else { return }
        }
    }

    /// Puts other bytes in the place of a report, as an editor does.
    private func replace(_ id: ReportID, with bytes: [UInt8]) throws {
        let other = store.reportsPath.appending("other")
        try Data(bytes).write(to: URL(fileURLWithPath: other.string))
        #expect(rename(other.string, store.path(of: id).string) == 0)
    }

    /// Changes any bytes of the index.
    private func damage(_ generator: inout SplitMix) throws {
        guard var bytes = FileManager.default.contents(atPath: index.string), !bytes.isEmpty else { return }
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: bytes[Int.random(in: 0..<bytes.count, using: &generator)] ^= 1
        case 1: bytes.removeLast(Int.random(in: 1...bytes.count, using: &generator))
        default: bytes += [UInt8](repeating: 7, count: 50)
        }
        try bytes.write(to: URL(fileURLWithPath: index.string))
    }

    /// Copies the store, and puts the copy in its place.
    private func moveAway() throws {
        let copy = temporary.directory.appending("copy")
        let result = try ProgramRun.run("/bin/cp", ["-a", store.path.string, copy.string])
        #expect(result.exitCode == 0)
        try FileManager.default.removeItem(atPath: store.path.string)
        #expect(rename(copy.string, store.path.string) == 0)
    }

    @Test func `An index with many former states of a report is made anew after a while`() throws {
        try fill(1)
        let id = try #require(try store.summaries().summaries.first).id
        let line = try size()
        for _ in 0..<1200 { try store.update(id) { $0.occurrences.count += 1 } }
        #expect(try size() < 300 * line)
        #expect(try store.summaries().summaries == scanned())
        #expect(store.verify().findings.isEmpty)
    }

    @Test func `Reports that are written add a line each, and no more`() throws {
        try fill(400)
        #expect(try size() < 400 * 500)
        #expect(try store.summaries().summaries == scanned())
        #expect(store.verify().findings.isEmpty)
    }

    private func size() throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: index.string)[.size] as? Int)
    }

    @Test func `Texts with tabs, line ends and backslashes are listed as they are`() throws {
        let texts = ["\t", "\n", "\\", "\\t", "\\\t", "a\tb\nc\\", "\\n\n", "\r\n", ""]
        for (number, text) in texts.enumerated() {
            var report = report(number)
            report.process.name = text
            report.reason = text
            report.process.buildID = number % 2 == 0 ? text : nil
            report.context = .init(tags: [text: text, "\(text)=": ""])
            try store.write(report)
        }
        #expect(try store.summaries().summaries == scanned())
        #expect(store.verify().findings.isEmpty)
    }

    @Test func `A report with more text than the index takes is read instead`() throws {
        try fill(2)
        let id = try #require(try store.summaries().summaries.first).id
        try store.update(id) { $0.reason = String(repeating: "long ", count: 20_000) }
        #expect(try store.summaries().summaries == scanned())
        #expect(store.verify().findings.isEmpty)
        try store.update(id) { $0.reason = "short" }
        #expect(try store.summaries().summaries == scanned())
        #expect(store.verify().findings.isEmpty)
    }

    @Test func `A folder that cannot be written is listed all the same`() throws {
        try fill(40)
        unlink(index.string)
        #expect(chmod(store.reportsPath.string, 0o500) == 0)
        defer { chmod(store.reportsPath.string, 0o700) }
        #expect(try store.summaries().summaries == scanned())
    }

    @Test func `A link, a folder or somebody else's file in the place of the index is not used, and replaced`() throws {
        try fill(2)
        let target = temporary.directory.appending("target")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: target.string))
        unlink(index.string)
        #expect(symlink(target.string, index.string) == 0)
        #expect(try store.summaries().summaries == scanned())
        try store.write(report(3))
        #expect(try store.summaries().summaries == scanned())
        #expect(FileManager.default.contents(atPath: target.string) == Data("mine".utf8))
        // It knows what was written since, and no more.
        #expect(store.verify().findings.map(\.kind) == [.staleIndex])
        unlink(index.string)
        #expect(mkfifo(index.string, 0o600) == 0)
        #expect(try store.summaries().summaries == scanned())
        try store.write(report(4))
        unlink(index.string)
        #expect(mkdir(index.string, 0o700) == 0)
        try store.write(report(5))
        #expect(try store.summaries().summaries == scanned())
        #expect(store.verify().findings.map(\.kind) == [.damagedIndex])
    }
}
