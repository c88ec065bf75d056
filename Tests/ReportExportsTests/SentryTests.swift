import Foundation
import LinuxSystem
import ReportTestSupport
import TestSupport
import Testing

@testable import CrashReports
@testable import ReportExports

/// Envelopes, read by Sentry's own package.
@Suite(.timeLimit(.minutes(10))) struct SentryTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func read(_ report: CrashReport, options: SentryEnvelope.Options = .init()) throws -> Seen {
        let bytes = try SentryEnvelope(report, options: options).bytes()
        let file = try folder.write(String(decoding: bytes, as: UTF8.self), to: "\(report.id).envelope")
        return Seen(try PythonScript.run("read-sentry.py", [file]))
    }

    @Test func `An envelope holds the event of its report`() throws {
        let envelope = try read(RichReport.report())
        #expect(envelope["headers"]["event_id"].string == "01a1fcd57d5b8f3e7b21d4a6905c1e77")
        #expect(envelope["hasEvent"].bool == true)
        #expect(envelope["isStable"].bool == true)
        #expect(envelope["items"].list?.count == 1)
        let item = envelope["items"][0]
        // Headers, headers of the item, the event, and nothing after the last newline.
        let lines = try #require(envelope["lines"].list?.map(\.integer))
        #expect(lines.count == 4 && lines[2] == item["headers"]["length"].integer && lines[3] == 0)
        let event = item["payload"]
        #expect(event["event_id"].string == "01a1fcd57d5b8f3e7b21d4a6905c1e77")
        #expect(event["timestamp"].string == "2026-11-21T06:40:12.123456Z")
        #expect(event["platform"].string == "native")
        #expect(event["level"].string == "fatal")
        #expect(event["server_name"].string == "mx1")
        #expect(event["release"].string == "mail-agent 2.4.1")
        #expect(event["environment"].string == "production")
        #expect(event["fingerprint"].strings == ["v2-0c6d1f2e3a4b5c6d"])
        #expect(event["tags"]["region"].string == "eu-1")
        #expect(event["tags"]["holdfast.verdict"].string == "restart")
        #expect(event["extra"]["annotations"]["queue"].string == "17 waiting")
        #expect(event["extra"]["arguments"].strings == ["mail-agent", "--port", "2525"])
        #expect(event["sdk"]["version"].string == HoldfastVersion.current)
    }

    @Test func `The exception has the signal, and the stack from the oldest call to the newest`() throws {
        let event = try read(RichReport.report())["items"][0]["payload"]
        let exception = event["exception"]["values"][0]
        #expect(exception["type"].string == "SIGSEGV")
        #expect(exception["value"].string == "write to address 0x18 (null page)")
        #expect(exception["thread_id"].integer == 4242)
        let mechanism = exception["mechanism"]
        #expect(mechanism["type"].string == "signalhandler")
        #expect(mechanism["handled"].bool == false)
        #expect(mechanism["meta"]["signal"]["number"].integer == 11)
        #expect(mechanism["meta"]["signal"]["code_name"].string == "SEGV_MAPERR")
        #expect(mechanism["data"]["relevant_address"].string == "0x18")
        let frames = try #require(exception["stacktrace"]["frames"].list)
        #expect(frames.count == 6)
        #expect(frames[0]["package"].string == "/usr/lib/x86_64-linux-gnu/libc.so.6")
        #expect(frames[0]["in_app"].bool == false)
        let route = frames[4]
        #expect(route["function"].string == "Router.route(for:)")
        #expect(route["filename"].string == "MailAgent/Router.swift")
        #expect(route["abs_path"].string == "/src/Sources/MailAgent/Router.swift")
        #expect(route["lineno"].integer == 88)
        #expect(route["colno"].integer == 40)
        #expect(route["in_app"].bool == true)
        #expect(route["instruction_addr"].string == "0x5581c2a41b7d")
        #expect(route["symbol_addr"].string == "0x5581c2a41ac0")
        #expect(route["image_addr"].string == "0x5581c2a20000")
        #expect(frames[5]["instruction_addr"].isAbsent, "an inlined frame would be symbolicated twice")
        #expect(exception["stacktrace"]["registers"]["rip"].string == "0x00005581c2a41b7d")
    }

    @Test func `Threads, images, contexts and breadcrumbs are where Sentry looks for them`() throws {
        let event = try read(RichReport.report())["items"][0]["payload"]
        let threads = try #require(event["threads"]["values"].list)
        #expect(threads.map(\.["id"].integer) == [4242, 4250, 4251])
        #expect(threads.map(\.["crashed"].bool) == [true, false, false])
        #expect(threads[0]["current"].bool == true)
        #expect(threads[0]["stacktrace"].isAbsent, "the exception has it")
        #expect(threads[1]["name"].string == "resolver")
        #expect(threads[1]["stacktrace"]["frames"][1]["function"].string == "__futex_abstimed_wait_common")
        let images = try #require(event["debug_meta"]["images"].list)
        #expect(images.map(\.["type"].string) == ["elf", "elf"])
        #expect(images[1]["code_id"].string == "68220ae2c65d65c1b6aaa12fa6765a6ec2f5f434")
        // The example of Sentry's own documentation.
        #expect(images[1]["debug_id"].string == "e20a2268-5dc6-c165-b6aa-a12fa6765a6e")
        #expect(images[1]["image_size"].integer == 0x1d5000)
        #expect(images[1]["code_file"].string == "/usr/lib/x86_64-linux-gnu/libc.so.6")
        #expect(event["contexts"]["os"]["distribution_pretty_name"].string == "Debian GNU/Linux 12 (bookworm)")
        #expect(event["contexts"]["device"]["memory_size"].integer == 8_589_934_592)
        #expect(event["contexts"]["runtime"]["version"].string == "6.3.1")
        #expect(event["contexts"]["app"]["app_name"].string == "mail-agent")
        #expect(event["contexts"]["loop"]["label"].string == "retry queue")
        let breadcrumbs = try #require(event["breadcrumbs"]["values"].list)
        #expect(breadcrumbs.map(\.["level"].string) == ["error", "info", "info", "warning", "info"])
        #expect(breadcrumbs[3]["message"].string == "routing table is empty, keeping the old one")
        #expect(breadcrumbs[3]["timestamp"].string == "2026-11-21T06:40:11.813456Z")
    }

    @Test func `A resumed fault is an error that was handled`() throws {
        let event = try read(try Fixture.report("v1-plain.json"))["items"][0]["payload"]
        #expect(event["level"].string == "error")
        #expect(event["exception"]["values"][0]["mechanism"]["handled"].bool == true)
        #expect(event["release"].string == "mail-agent@8c2f0d3b5a5e")
        #expect(event["environment"].isAbsent)
        // An image without a build identifier would be refused.
        #expect(event["debug_meta"]["images"].list?.count == 1)
        #expect(event["debug_meta"]["images"][0]["debug_id"].string == "3b0d2f8c-5e5a-7c4f-9d1e-000000000000")
    }

    @Test func `The report goes along only when it is asked for`() throws {
        let report = RichReport.report()
        let envelope = try read(report, options: .init(release: "r/1\n", environment: "test", attachesReport: true))
        #expect(envelope["items"].list?.map(\.["type"].string) == ["event", "attachment"])
        #expect(envelope["items"][0]["payload"]["release"].string == "r-1-")
        let attachment = envelope["items"][1]
        #expect(attachment["headers"]["filename"].string == "\(report.id).json")
        #expect(attachment["headers"]["length"].integer == (try report.json().count))
        #expect(attachment["payload"]["fingerprint"].string == report.fingerprint.rawValue)
    }

    @Test func `A hostile report is an envelope like any other`() throws {
        let report = try HostileReports.fault()
        let bytes = try SentryEnvelope(report).bytes()
        // Nothing breaks out of its line: the headers, the item's headers, the event.
        #expect(bytes.split(separator: UInt8(ascii: "\n")).count == 3)
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars where scalar != "\n" {
            #expect(![.control, .format, .lineSeparator].contains(scalar.properties.generalCategory))
        }
        let event = try read(report)["items"][0]["payload"]
        let tags = try #require(event["tags"].keys)
        #expect(tags.allSatisfy { $0.count <= 32 })
        #expect(event["level"].string == "fatal")
    }

    @Test func `An event is never larger than Sentry takes`() throws {
        var report = RichReport.report()
        let name = String(repeating: "Generic<", count: 100)
        report.thread.frames = (0..<2000).map { RichReport.frame($0, 0x21b7d, name, 1, "/src/Sources/\(name)") }
        var other = report.thread
        other.frames.removeLast(1800)
        report.otherThreads = Array(repeating: other, count: 10)
        report.images = Array(repeating: report.images[0], count: 2000)
        report.context?.breadcrumbs = Array(
            repeating: .init(time: report.timestamp, kind: .note, text: String(repeating: "x", count: 4000)),
            count: 200
        )
        #expect(try report.json().count > 4 * SentryEnvelope.maximumEventBytes)
        let item = try read(report)["items"][0]
        #expect(try #require(item["bytes"].integer) <= SentryEnvelope.maximumEventBytes)
        let frames = try #require(item["payload"]["exception"]["values"][0]["stacktrace"]["frames"].list)
        #expect(frames.count == 50)
    }

    @Test func `Numbers at the limits make no trap`() throws {
        var report = RichReport.report()
        for number in [Int.max, .min, -1] {
            report.thread.frames[1].image = number
            report.thread.frames[1].line = number
            report.thread.frames[1].column = number
            report.thread.frames[1].functionOffset = number
            report.occurrences.count = number
            report.process.uptimeSeconds = Double(number) * 1e300
            report.images[0].end = HexAddress(0)
            report.images[1].base = HexAddress(0)
            report.images[1].end = HexAddress(.max)
            _ = try SentryEnvelope(report).bytes()
            _ = try OTLPLogs([report]).bytes()
            _ = AppleCrashText(report).text()
        }
    }
}
