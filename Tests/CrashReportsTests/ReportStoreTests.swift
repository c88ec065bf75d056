import Foundation
import Glibc
import LinuxSystem
import ReportTestSupport
import SystemPackage
import Testing

@testable import CrashReports

@Suite struct ReportStoreTests {
    private let temporary: TemporaryStore
    private var store: ReportStore { temporary.store }

    init() throws {
        temporary = try TemporaryStore()
    }

    @Test func `What is written can be read, by its owner only`() throws {
        let report = SampleReport.minimal()
        try store.write(report)
        #expect(try store.load(prefix: report.id.rawValue) == report)
        #expect(try store.last() == report)
        for directory in [store.path, store.path.removingLastComponent(), store.reportsPath, store.spoolPath] {
            #expect(try mode(directory) == 0o700)
        }
        #expect(try mode(store.path(of: report.id)) == 0o600)
        #expect(try names() == ["\(report.id).json"])
    }

    @Test func `An existing store keeps its permissions, its folders are closed`() throws {
        try store.create()
        #expect(chmod(store.path.string, 0o755) == 0)
        #expect(chmod(store.reportsPath.string, 0o777) == 0)
        try store.write(SampleReport.minimal())
        #expect(try mode(store.path) == 0o755)
        #expect(try mode(store.reportsPath) == 0o700)
    }

    @Test func `A store that does not exist is empty and stays away`() throws {
        #expect(try store.last() == nil)
        #expect(try store.summaries() == store.summaries(limit: 1))
        #expect(try store.summaries().summaries.isEmpty)
        #expect(code { try store.load(prefix: "0") } == .noSuchReport)
        #expect(throws: Errno.noSuchFileOrDirectory) { try FileStatus(of: store.path) }
    }

    @Test func `The newest report comes first`() throws {
        let ids = try (1...5).map { try SampleReport.id("01a1fcd57d5\($0)") }
        for id in ids.shuffled() { try store.write(SampleReport.minimal(id: id)) }
        #expect(try store.last()?.id == ids.last)
        #expect(try store.summaries().summaries.map(\.id) == ids.reversed())
        #expect(try store.summaries(limit: 2).summaries.map(\.id) == [ids[4], ids[3]])
        #expect(try store.summaries(limit: 0).summaries.isEmpty)
    }

    @Test func `A prefix means one report or none`() throws {
        let ids = [try SampleReport.id("01a1"), try SampleReport.id("01a2"), try SampleReport.id("02")]
        for id in ids { try store.write(SampleReport.minimal(id: id)) }
        #expect(try store.load(prefix: "02").id == ids[2])
        #expect(try store.load(prefix: "01A2").id == ids[1])
        #expect(code { try store.load(prefix: "01") } == .ambiguous)
        for prefix in ["03", "", "../", "01a10x", ids[0].rawValue + "0"] {
            #expect(code { try store.load(prefix: prefix) } == .noSuchReport)
        }
    }

    @Test func `An update changes the report and nothing else`() throws {
        let report = SampleReport.minimal()
        try store.write(report)
        let later = report.timestamp.adding(seconds: 5)
        for count in 2...3 {
            let updated = try store.update(report.id) {
                $0.occurrences.count += 1
                $0.occurrences.last = later
                $0.id = ReportID(time: later)
            }
            #expect(updated.occurrences.count == count)
        }
        let read = try store.load(prefix: report.id.rawValue)
        #expect(read.occurrences == .init(count: 3, first: report.timestamp, last: later))
        #expect(try store.summaries().summaries.map(\.reason) == ["abort (3 times)"])
        #expect(try names() == ["\(report.id).json"])
        #expect(code { try store.update(try SampleReport.id("00")) { _ in } } == .noSuchReport)
    }

    @Test func `Who knows a report need not read it again, unless another has changed or removed it`() throws {
        let report = SampleReport.minimal()
        try store.write(report)
        var known = try store.update(report.id, known: nil) { $0.occurrences.count += 1 }
        let file = store.path.appending("reports/\(report.id).json").string
        // No JSON any more, in a file that looks the same.
        var status = stat()
        try #require(stat(file, &status) == 0)
        let descriptor = try FileDescriptor.open(FilePath(file), .writeOnly)
        try descriptor.closeAfter {
            _ = try descriptor.writeAll(toAbsoluteOffset: 0, "?".utf8)
            try #require(futimens(descriptor.rawValue, [status.st_atim, status.st_mtim]) == 0)
        }
        #expect(code { try store.update(report.id) { _ in } } == .damaged)
        known = try store.update(report.id, known: known) { $0.occurrences.count += 1 }
        #expect(try store.last()?.occurrences.count == 3)
        try store.update(report.id) { $0.notes.append("by another") }
        _ = try store.update(report.id, known: known) { $0.occurrences.count += 1 }
        let last = try #require(try store.last())
        #expect(last.occurrences.count == 4 && last.notes.contains("by another"))
        try #require(unlink(file) == 0)
        #expect(code { _ = try store.update(report.id, known: known) { _ in } } == .noSuchReport)
    }

    @Test func `Writers of one report do not lose each other's changes`() async throws {
        let report = SampleReport.minimal()
        try store.write(report)
        let store = store
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<40 {
                group.addTask { try store.update(report.id) { $0.occurrences.count += 1 } }
            }
            try await group.waitForAll()
        }
        #expect(try store.last()?.occurrences.count == 41)
    }

    @Test func `What a writer left that died is ignored, then removed`() throws {
        let report = SampleReport.minimal()
        try temporary.plant("{".utf8, name: ".report.tmp")
        try temporary.plant("{".utf8, name: ".\(ReportID(time: .now)).tmp")
        #expect(try store.summaries().summaries.isEmpty)
        #expect(try store.summaries().problems.isEmpty)
        #expect(try store.last() == nil)
        try store.write(report)
        #expect(try !names().contains(".report.tmp"))
        #expect(try store.prune().removed.isEmpty)
        #expect(try names() == ["\(report.id).json"])
    }

    @Test func `The keys of a summary are these`() throws {
        let summary = ReportSummary(try CrashReport(json: try Fixture.bytes("v1-plain.json")), in: store)
        let bytes = try JSONText.encode(summary)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        #expect(
            object.keys.sorted() == [
                "buildID", "fingerprint", "holdfast", "host", "id", "kind", "location", "occurrences", "path", "pid",
                "process", "reason", "signal", "started", "timestamp", "verdict",
            ]
        )
        #expect(object["process"] as? String == "mail-agent")
        #expect(object["pid"] as? Int == 4242)
        #expect(object["signal"] as? String == "SIGILL")
        #expect(object["verdict"] as? String == "resume")
        #expect(object["path"] as? String == store.path(of: summary.id).string)
    }

    private func code(_ body: () throws -> some Any) -> ReportStoreError.Code? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? ReportStoreError)?.code
        }
    }

    private func mode(_ path: FilePath) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path.string)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    /// What lies in the folder of the reports beside the index.
    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: store.reportsPath.string).filter { $0 != ".index" }
    }
}
