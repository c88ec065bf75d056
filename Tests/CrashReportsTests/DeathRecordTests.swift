import Foundation
import ReportTestSupport
import SystemPackage
import Testing

@testable import CrashReports

/// Records of deaths are hostile input: any process of the user can write them.
@Suite struct DeathRecordTests {
    static func record(_ changes: [String: Any] = [:]) throws -> [UInt8] {
        let plain: [String: Any] = [
            "version": 1, "name": "web", "arguments": ["web", "--token", "hunter2"], "executable": "/usr/bin/web",
            "pid": 7,
            "supervisor": 1, "began": 1_795_243_000_000_000_000, "ended": 1_795_243_001_000_000_000, "restarts": 2,
            "status": 3, "cause": "exit", "confidence": "certain", "sentence": "It ended itself with status 3.",
            "next": [],
            "evidence": ["waitid: status 3"], "userSeconds": 0.5, "systemSeconds": 0.25, "peakBytes": 4096,
            "wasReady": true, "action": "It starts again at once.", "lastOutput": "password=hunter2\n",
            "holdfast": "0.1.0",
            "host": ["name": "h", "kernel": "6", "os": "Debian", "architecture": "x86_64", "processors": 2]
                as [String: Any],
        ]
        return Array(try JSONSerialization.data(withJSONObject: plain.merging(changes) { $1 }))
    }

    @Test func `A record becomes a report without secrets, the same each time`() throws {
        let record = try DeathRecord(json: Self.record())
        let report = record.report()
        #expect(report == record.report())
        #expect(report.kind == .death)
        #expect(report.process.uptimeSeconds == 1)
        let text = String(decoding: try report.json(), as: UTF8.self)
        #expect(!text.contains("hunter2"))
        #expect(try CrashReport(json: report.json()) == report)
    }

    @Test(arguments: [
        ["began": Int.min, "ended": Int.max], ["began": Int.max, "ended": Int.min],
        ["pid": Int.max, "supervisor": Int.min],
        ["userSeconds": Int.max, "peakBytes": Int.max], ["status": Int.max, "restarts": Int.min],
    ])
    func `Numbers at their limits are no reason to fault`(changes: [String: Int]) throws {
        let report = try DeathRecord(json: Self.record(changes)).report()
        #expect(!(try report.json()).isEmpty)
        #expect(!(report.death?.facts.isEmpty ?? true))
    }

    @Test func `What is no record is kept under another name, and the rest is told`() throws {
        let temporary = try TemporaryStore()
        try temporary.store.create()
        let spool = temporary.store.spoolPath
        func write(_ bytes: [UInt8], _ name: String) throws {
            try Data(bytes).write(to: URL(fileURLWithPath: spool.appending(name).string))
        }
        try write(Array("{}".utf8), "1-1.death")
        try write(Self.record(["version": 2]), "2-2.death")
        try write(Self.record(), "7-3.death")
        let outcome = SpoolFinisher(store: temporary.store).finish()
        #expect(outcome.reports.count == 1)
        #expect(outcome.problems.count == 2)
        let names = try FileManager.default.contentsOfDirectory(atPath: spool.string).sorted()
        #expect(names == ["1-1.death.damaged", "2-2.death.damaged"])
    }

    @Test func `Each death is counted once, however many finish the store at the same time`() throws {
        let temporary = try TemporaryStore()
        try temporary.store.create()
        let folder = temporary.store.spoolPath.string
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let count = 150
        for number in 1...count {
            let ended = 1_795_243_001_000_000_000 + number
            let record = try Self.record(["pid": 100 + number, "ended": ended])
            try Data(record).write(to: URL(filePath: "\(folder)/\(100 + number)-\(number).death"))
        }
        let store = temporary.store
        DispatchQueue.concurrentPerform(iterations: 4) { _ in _ = SpoolFinisher(store: store).finish() }
        let summaries = try store.summaries().summaries
        // Most are only counted in the last report of their group.
        #expect(summaries.count < count)
        #expect(summaries.reduce(0) { $0 + $1.occurrences.count } == count)
    }
}
