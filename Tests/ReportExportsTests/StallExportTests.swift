import Foundation
import ReportTestSupport
import TestSupport
import Testing

@testable import CrashReports
@testable import ReportExports

/// What the forms of other projects say of a stall.
@Suite(.timeLimit(.minutes(10))) struct StallExportTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func event(_ report: CrashReport) throws -> Seen {
        let bytes = try SentryEnvelope(report).bytes()
        let file = try folder.write(String(decoding: bytes, as: UTF8.self), to: "\(report.id).envelope")
        return Seen(try PythonScript.run("read-sentry.py", [file]))["items"][0]["payload"]
    }

    @Test func `Sentry is warned of a stall, which nothing signalled`() throws {
        let event = try event(try Fixture.report("v1-stall.json"))
        #expect(event["level"].string == "warning")
        let exception = event["exception"]["values"][0]
        #expect(exception["type"].string == "Stall")
        #expect(exception["value"].string == "stalled for 1.87 s, running")
        #expect(exception["thread_id"].integer == 4242)
        #expect(exception["mechanism"]["type"].string == "stall")
        #expect(exception["mechanism"]["handled"].bool == true)
        #expect(exception["mechanism"]["meta"]["signal"]["name"].string == nil)
        let data = exception["mechanism"]["data"]
        #expect(data["activity"].string == "running")
        #expect(data["heaviest_path"].strings?[4] == "RetryQueue.sweep() (RetryQueue.swift:58)")
        #expect(exception["stacktrace"]["frames"].list?.count == 8)
        #expect(event["threads"]["values"][0]["crashed"].bool == false)
        #expect(event["tags"]["holdfast.kind"].string == "stall")
        #expect(event["tags"]["holdfast.signal"].string == nil)
        #expect(event["tags"]["holdfast.verdict"].string == "wait")
    }

    @Test func `What was pinged has no thread anywhere`() throws {
        let report = try Fixture.report("v1-ping.json")
        let event = try event(report)
        let exception = event["exception"]["values"][0]
        #expect(exception["thread_id"].integer == nil)
        #expect(exception["stacktrace"]["frames"].list == nil)
        #expect(event["threads"]["values"].list?.count == 2)
        let apple = AppleCrashText(report).text()
        #expect(!apple.contains("Crashed:"))
        #expect(apple.contains("Exception Type:  STALL\nException Codes: NEVER_ENDED at 0x0\n"))
        _ = try OTLPLogs([report]).bytes()
    }

    @Test func `A log record of a stall is a warning`() throws {
        let bytes = try OTLPLogs([try Fixture.report("v1-stall.json")], observed: Timestamp(seconds: 1_795_243_300))
            .bytes()
        let file = try folder.write(String(decoding: bytes, as: UTF8.self), to: "logs.jsonl")
        let document = Seen(try PythonScript.run("read-otlp.py", [file]))[0]
        #expect(document["severity"].integer == 13)
        let record = document["message"]["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
        #expect(record["severityText"].string == "WARN")
        #expect(record["eventName"].string == "holdfast.stall")
        #expect(record["body"]["stringValue"].string == "stalled for 1.87 s, running: wait")
        let list = try #require(record["attributes"].list)
        let values = Dictionary(uniqueKeysWithValues: list.map { ($0["key"].string ?? "", $0["value"]) })
        #expect(values["exception.type"]?["stringValue"].string == "Stall")
        #expect(values["holdfast.stall.subject"]?["stringValue"].string == "loop")
        #expect(values["holdfast.stall.activity"]?["stringValue"].string == "running")
        #expect(!values.keys.contains { $0.hasPrefix("holdfast.signal") || $0 == "holdfast.access" })
    }

    @Test func `Apple's text of a stall fits the grammar`() throws {
        let text = AppleCrashText(try Fixture.report("v1-stall.json")).text()
        let found = try AppleCrashGrammar.parse(text)
        #expect(found.crashedThread == 0)
        #expect(found.threads == 2)
        #expect(text.contains("Exception Type:  STALL\nException Codes: WENT_ON at 0x0\n"))
        #expect(text.contains("*** Most of the time: libc.so.6+0x2724a > main (main.swift:12) > "))
        #expect(!text.contains("none"))
    }

    @Test(arguments: [
        (CrashReport.Stall.End.abandoned, "ABANDONED"), (.never, "NEVER_ENDED"), (.init(rawValue: "vanished"), "ENDED"),
    ])
    func `Apple's text says what became of a stall`(end: CrashReport.Stall.End, code: String) throws {
        var report = try Fixture.report("v1-stall.json")
        report.stall?.end = end
        let text = AppleCrashText(report).text()
        #expect(try AppleCrashGrammar.parse(text).threads == 2)
        #expect(text.contains("Exception Codes: \(code) at 0x0\n"))
    }
}
