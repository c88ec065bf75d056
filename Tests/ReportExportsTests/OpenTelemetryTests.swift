import Foundation
import ReportTestSupport
import TestSupport
import Testing

@testable import CrashReports
@testable import ReportExports

/// Log records, read into OpenTelemetry's own messages: a key that those do not have is an error.
@Suite(.timeLimit(.minutes(10))) struct OpenTelemetryTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func read(_ reports: [CrashReport]) throws -> Seen {
        let observed = Timestamp(seconds: 1_795_243_300)
        let bytes = try OTLPLogs(reports, observed: observed).bytes()
        let file = try folder.write(String(decoding: bytes, as: UTF8.self), to: "logs.jsonl")
        return Seen(try PythonScript.run("read-otlp.py", [file]))
    }

    /// Attributes by their keys, with their values as protobuf writes them.
    private func attributes(_ of: Seen) throws -> [String: Seen] {
        let list = try #require(of["attributes"].list)
        let keys = list.compactMap(\.["key"].string)
        #expect(Set(keys).count == keys.count, "a key is there once")
        return Dictionary(zip(keys, list.map { $0["value"] })) { first, _ in first }
    }

    @Test func `A report is a record with time, severity, body and identifiers`() throws {
        let document = try read([RichReport.report()])[0]
        #expect(document["time"].integer == 1_795_243_212_123_456_000)
        #expect(document["severity"].integer == 21)
        #expect(document["traceId"].string == "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(document["spanId"].string == "00f067aa0ba902b7")
        let scope = document["message"]["resourceLogs"][0]["scopeLogs"][0]
        #expect(scope["scope"]["name"].string == "holdfast")
        let record = scope["logRecords"][0]
        #expect(record["severityText"].string == "FATAL")
        #expect(record["observedTimeUnixNano"].string == "1795243300000000000")
        #expect(record["eventName"].string == "holdfast.fault")
        #expect(record["body"]["stringValue"].string == "write to address 0x18 (null page): restart")
    }

    @Test func `Attributes have the names of the semantic conventions`() throws {
        let logs = try read([RichReport.report()])[0]["message"]["resourceLogs"][0]
        let resource = try attributes(logs["resource"])
        #expect(resource["service.name"]?["stringValue"].string == "mail-agent")
        #expect(resource["service.version"]?["stringValue"].string == "mail-agent 2.4.1")
        #expect(resource["process.pid"]?["intValue"].string == "4242")
        #expect(resource["process.executable.path"]?["stringValue"].string == "/usr/local/bin/mail-agent")
        #expect(resource["process.command_args"]?["arrayValue"]["values"][2]["stringValue"].string == "2525")
        #expect(resource["process.creation.time"]?["stringValue"].string == "2026-11-21T06:12:00.123456Z")
        #expect(resource["host.name"]?["stringValue"].string == "mx1")
        #expect(resource["host.arch"]?["stringValue"].string == "amd64")
        #expect(resource["os.type"]?["stringValue"].string == "linux")
        #expect(resource["container.id"]?["stringValue"].string?.hasPrefix("f2ca1bb6c7e9") == true)
        let record = try attributes(logs["scopeLogs"][0]["logRecords"][0])
        #expect(record["exception.type"]?["stringValue"].string == "SIGSEGV")
        #expect(record["exception.message"]?["stringValue"].string?.contains("Fatal error") == true)
        let stack = try #require(record["exception.stacktrace"]?["stringValue"].string).split(separator: "\n")
        #expect(stack.count == 6)
        #expect(stack[1] == "1  Router.route(for:) + 189 at Router.swift:88:40 in mail-agent")
        #expect(record["code.function.name"]?["stringValue"].string == "Router.route(for:)")
        #expect(record["code.line.number"]?["intValue"].string == "88")
        #expect(record["thread.id"]?["intValue"].string == "4242")
        #expect(record["holdfast.verdict"]?["stringValue"].string == "restart")
        #expect(record["holdfast.recovery.quarantined"]?["boolValue"].bool == true)
        #expect(record["holdfast.process.uptime"]?["doubleValue"].number == 1692.123456)
        #expect(record["holdfast.tag.region"]?["stringValue"].string == "eu-1")
        let breadcrumbs = try #require(record["holdfast.breadcrumbs"]?["arrayValue"]["values"].list)
        #expect(breadcrumbs.count == 5)
        #expect(breadcrumbs[3]["kvlistValue"]["values"].list?.count == 5)
    }

    @Test func `Reports of the same process share a resource`() throws {
        var second = RichReport.report(time: RichReport.time.adding(seconds: 5))
        second.process.startTime = RichReport.report().process.startTime
        var third = second
        third.process.pid = 77
        let document = try read([RichReport.report(), second, third])[0]["message"]
        #expect(document["resourceLogs"].list?.count == 2)
        #expect(document["resourceLogs"][0]["scopeLogs"][0]["logRecords"].list?.count == 2)
    }

    @Test func `A resumed fault is an error outside of any trace`() throws {
        let document = try read([try Fixture.report("v1-plain.json")])[0]
        #expect(document["severity"].integer == 17)
        #expect(document["traceId"].string == "")
    }

    @Test func `A hostile report is a record like any other`() throws {
        let document = try read([try HostileReports.fault()])[0]
        #expect(document["traceId"].string == "")
        #expect(try #require(document["wireBytes"].integer) > 1000)
    }

    @Test func `Numbers that JSON has no word for do not stop an export`() throws {
        var report = RichReport.report()
        report.context?.load = [.infinity, .nan]
        report.process.uptimeSeconds = .nan
        #expect(try read([report])[0]["severity"].integer == 21)
    }
}
