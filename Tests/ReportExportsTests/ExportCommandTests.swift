import Foundation
import Glibc
import LinuxSystem
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// `crashreport export` and `crashreport report`.
@Suite(.timeLimit(.minutes(10))) struct ExportCommandTests {
    private let folder: TemporaryFolder
    private let store: ReportStore

    init() throws {
        folder = try TemporaryFolder()
        store = ReportStore(path: FilePath(folder.path).appending("store"))
    }

    private func run(_ arguments: String...) throws -> ProgramRun {
        try ProgramRun.crashreport(arguments + ["--store", store.path.string])
    }

    private func file(_ name: String) -> String { "\(folder.path)/\(name)" }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: file(name), encoding: .utf8)
    }

    /// Writes the reports, and returns their identifiers, the newest first.
    private func fill(_ reports: [CrashReport]) throws -> [ReportID] {
        for report in reports { try store.write(report) }
        return reports.map(\.id).sorted(by: >)
    }

    @Test func `One report goes to the standard output or to a file`() throws {
        let id = try fill([RichReport.report()])[0]
        let sentry = try run("export", "last", "--format", "sentry")
        #expect(sentry.exitCode == 0, "\(sentry.errors)")
        #expect(sentry.output.hasPrefix("{\"event_id\":\"\(id)\""))
        #expect(try run("export", "01a1", "--format", "sentry", "--output", file("one.envelope")).exitCode == 0)
        #expect(try text("one.envelope") == sentry.output)
        let mode = try FileManager.default.attributesOfItem(atPath: file("one.envelope"))[.posixPermissions] as? Int
        #expect(mode == 0o600, "reports are nobody else's business")
        let apple = try run("export", "last", "--format", "apple")
        #expect(apple.output == (try Golden.text("rich.crash")))
        let attached = try run("export", "last", "--format", "sentry", "--attach-report", "--release", "r1")
        #expect(attached.output.contains("\"type\":\"attachment\""))
        #expect(attached.output.contains("\"release\":\"r1\""))
    }

    @Test(arguments: ["sentry", "apple"])
    func `Several reports are files in a folder`(format: String) throws {
        let ids = try fill(RichStore.reports())
        let refused = try run("export", "--all", "--format", format)
        #expect(refused.exitCode == 64)
        #expect(refused.errors.contains("--output"))
        #expect(refused.output == "")
        #expect(try run("export", "--all", "--format", format, "--output", file("out")).exitCode == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: file("out"))
        #expect(Set(names) == Set(ids.map { "\($0).\(format == "sentry" ? "envelope" : "crash")" }))
        // Again, in the place of what is there.
        #expect(try run("export", "--all", "--format", format, "--output", file("out")).exitCode == 0)
        #expect(try run("export", "last", "--format", format, "--output", file("single/")).exitCode == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: file("single")).count == 1)
    }

    @Test func `Several reports are one document of OpenTelemetry`() throws {
        let ids = try fill(RichStore.reports())
        let result = try run("export", "--all", "--format", "otlp")
        #expect(result.exitCode == 0)
        #expect(result.output.split(separator: "\n").count == 1)
        let document = Seen(try JSONSerialization.jsonObject(with: Data(result.output.utf8)))
        let records = try #require(document["resourceLogs"].list).flatMap {
            $0["scopeLogs"][0]["logRecords"].list ?? []
        }
        #expect(records.count == ids.count)
    }

    @Test func `Reports are lines of JSON that can be read again`() throws {
        let ids = try fill(RichStore.reports())
        let result = try run("export", "--all", "--format", "json-lines")
        let reports = try result.output.split(separator: "\n").map { try CrashReport(json: Array($0.utf8)) }
        #expect(reports.map(\.id) == ids)
    }

    @Test func `A report that is named twice is exported once`() throws {
        let id = try fill([RichReport.report()])[0]
        let result = try run("export", "last", id.rawValue, "--format", "json-lines")
        #expect(result.output.split(separator: "\n").count == 1)
    }

    @Test(arguments: [
        ["export"], ["export", "last"], ["export", "last", "--format", "wrong"], ["export", "--format", "otlp"],
        ["export", "last", "--all", "--format", "otlp"], ["export", "last", "--format", "otlp", "--release", "1"],
        ["export", "last", "--format", "otlp", "--output", ""], ["report"], ["report", "--html", ""],
        ["report", "--html", "-", "--per-cause", "-1"],
    ])
    func `Wrong usage has a status of its own`(arguments: [String]) throws {
        #expect(try ProgramRun.crashreport(arguments).end == .exited(64))
    }

    @Test func `What is not there and what cannot be written have theirs`() throws {
        #expect(try run("export", "last", "--format", "otlp").exitCode == 1)
        #expect(try run("export", "--all", "--format", "otlp").exitCode == 1)
        _ = try fill([RichReport.report()])
        #expect(try run("export", "ffff", "--format", "otlp").exitCode == 66)
        #expect(try run("export", "last", "--format", "otlp", "--output", file("no/such/file")).exitCode == 74)
        #expect(try run("report", "--html", file("no/such/file")).exitCode == 74)
        #expect(try run("report", "--html", "/dev/full").exitCode == 74)
    }

    @Test func `The page of a store is written, and a damaged report is left out of it`() throws {
        _ = try fill(RichStore.reports())
        try Data("{".utf8).write(to: URL(fileURLWithPath: store.reportsPath.string + "/\(ReportID(time: .now)).json"))
        let result = try run("report", "--html", file("page.html"), "--per-cause", "1")
        #expect(result.exitCode == 0)
        #expect(result.errors.split(separator: "\n").count == 1)
        let page = try text("page.html")
        #expect(page.matches(of: /<details class="report"/).count == 5)
        #expect(page.contains("Made by Holdfast \(HoldfastVersion.current)"))
        #expect(try run("report", "--html", "-").output.hasPrefix("<!DOCTYPE html>"))
    }

    @Test func `There is no page without a report`() throws {
        let empty = try run("report", "--html", file("page.html"))
        #expect(empty.exitCode == 1)
        #expect(empty.errors == "crashreport: no crash reports in \(store.path)\n")
        let id = try fill([RichReport.report()])[0]
        #expect(try run("report", "--html", file("page.html"), "--process", "nobody").exitCode == 1)
        try Data("{".utf8).write(to: URL(fileURLWithPath: store.path(of: id).string), options: .atomic)
        let damaged = try run("report", "--html", file("page.html"))
        #expect(damaged.exitCode == 65)
        #expect(damaged.errors.split(separator: "\n").count == 1)
        #expect(!FileManager.default.fileExists(atPath: file("page.html")))
    }

    @Test(arguments: ["otlp", "json-lines", "sentry"])
    func `An export goes on after a report that cannot be read, and says so at the end`(format: String) throws {
        let ids = try fill(RichStore.reports())
        // The index knows it as it was: written into, and not replaced.
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: store.path(of: ids[1]).string))
        try handle.truncate(atOffset: 0)
        try handle.close()
        let result = try run("export", "--all", "--format", format, "--output", file("out/"))
        #expect(result.exitCode == 65)
        #expect(result.errors.contains("\(ids[1]).json is not a readable report"))
        #expect(result.errors.split(separator: "\n").count == 1)
        let names = try FileManager.default.contentsOfDirectory(atPath: file("out"))
        #expect(names.count == (format == "sentry" ? ids.count - 1 : 1))
        guard format == "json-lines" else { return }
        let lines = try text("out/reports.jsonl").split(separator: "\n")
        #expect(try lines.map { try CrashReport(json: Array($0.utf8)).id } == ids.filter { $0 != ids[1] })
    }

    @Test func `An export of what is damaged in part says so, and one of nothing else writes nothing`() throws {
        let ids = try fill([RichReport.report()])
        let other = ReportID(time: .now)
        try Data("{".utf8).write(to: URL(fileURLWithPath: store.path(of: other).string))
        let part = try run("export", "--all", "--format", "json-lines", "--output", file("out"))
        #expect(part.exitCode == 65)
        let kept = try text("out")
        #expect(kept.contains(ids[0].rawValue))
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: store.path(of: ids[0]).string))
        try handle.truncate(atOffset: 0)
        try handle.close()
        #expect(try run("export", "--all", "--format", "json-lines", "--output", file("out")).exitCode == 65)
        #expect(try text("out") == kept)
    }

    @Test func `A report that is removed while others are exported is left out`() throws {
        let ids = try fill(RichStore.reports())
        let apple = { (id: ReportID) in file("out/\(id).crash") }
        try FileManager.default.createDirectory(atPath: file("out"), withIntermediateDirectories: false)
        // The first one has to wait for room, after all were listed.
        try #require(mkfifo(apple(ids[0]), 0o600) == 0)
        let fifo = open(apple(ids[0]), O_RDWR | O_NONBLOCK | O_CLOEXEC)
        defer { close(fifo) }
        var filling = [UInt8](repeating: 0, count: 4096)
        var filled = 0
        while write(fifo, filling, filling.count) > 0 { filled += filling.count }
        let program = try ChildProcess(
            try BuiltProduct.path(of: "crashreport"),
            ["export", "--all", "--format", "apple", "--output", file("out"), "--store", store.path.string]
        )
        try waitUntil(program.pid, hasOpen: apple(ids[0]))
        for id in ids.dropFirst() { try FileManager.default.removeItem(atPath: store.path(of: id).string) }
        for _ in 0..<(filled / filling.count) { _ = read(fifo, &filling, filling.count) }
        #expect(try program.wait(within: Deadline.patience) == .exited(0))
        #expect(program.errors == "")
        let count = read(fifo, &filling, filling.count)
        #expect(String(decoding: filling.prefix(max(0, count)), as: UTF8.self).hasPrefix("Incident Identifier: "))
        #expect(try FileManager.default.contentsOfDirectory(atPath: file("out")) == ["\(ids[0]).crash"])
    }

    private func waitUntil(_ pid: pid_t, hasOpen path: String) throws {
        let folder = "/proc/\(pid)/fd"
        for _ in 0..<6000 {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            let paths = names.map { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
            if paths.contains(path) { return }
            usleep(10_000)
        }
        Issue.record("\(path) was never opened")
    }
}
