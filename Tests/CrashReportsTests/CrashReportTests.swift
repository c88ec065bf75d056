import Foundation
import ReportTestSupport
import Testing

@testable import CrashReports

@Suite struct CrashReportTests {
    @Test func `A plain fault of version 1 can be read for ever`() throws {
        let report = try CrashReport(json: try Fixture.bytes("v1-plain.json"))
        #expect(report.id.rawValue == "01a1fcd57d5b8f3e7b21d4a6905c1e77")
        #expect(report.timestamp.description == "2026-11-21T06:40:12.123456Z")
        #expect(report.process.arguments == ["mail-agent", "--port", "2525"])
        #expect(report.fault?.signal == .signal(4))
        #expect(report.fault?.code == .code(2, ofSignal: 4))
        #expect(report.loop?.callout?.kind == .timer)
        #expect(report.thread.frames.count == 5)
        #expect(report.thread.registers["rax"] == HexAddress(0))
        #expect(report.images[1].buildID == nil)
        #expect(report.verdict.decision == .resume)
        #expect(report.location == "Router.route(for:) (Router.swift:88)")
        #expect(report.runtimeFailure == "Unexpectedly found nil while unwrapping an Optional value")
    }

    @Test func `A recovery of version 1 can be read for ever, and is absent from a plain fault`() throws {
        let plain = try CrashReport(json: try Fixture.bytes("v1-plain.json"))
        #expect(plain.recovery == nil)
        #expect(plain.fault?.exception == nil)
        #expect(plain.process.isForkedChild == nil)
        let report = try CrashReport(json: try Fixture.bytes("v1-recovery.json"))
        let recovery = try #require(report.recovery)
        #expect(!recovery.drained)
        #expect(recovery.quarantined)
        #expect(recovery.heldLocks == 1)
        #expect(recovery.inLockFrame)
        #expect(recovery.touched == ["routing table", "retry queue"])
        #expect(report.fault?.exception == .init(type: "std::out_of_range", message: "map::at"))
        #expect(report.process.isForkedChild == true)
    }

    @Test func `A fault of version 1 with its surroundings can be read for ever`() throws {
        let report = try CrashReport(json: try Fixture.bytes("v1-fault.json"))
        #expect(report.kind == .fault && report.stall == nil)
        #expect(report.thread.id == 4242)
        #expect(report.otherThreads.map(\.name) == ["resolver"])
        #expect(report.otherThreads[0].state == .sleeping)
        #expect(report.otherThreads[0].systemCall == "futex")
        #expect(report.otherThreads[0].sampledAfter == 0.000412)
        #expect(report.threadsOmitted == 0)
        #expect(report.diagnosis?.next.count == 2)
        #expect(report.fault?.instructions?.bytes.hasPrefix("0f0b") == true)
        let context = try #require(report.context)
        #expect(context.breadcrumbs.map(\.kind) == [.port, .note, .timer])
        #expect(context.breadcrumbs[1].level == "warning")
        #expect(context.breadcrumbsLost == 4018)
        #expect(context.tags == ["region": "eu-1"])
        #expect(context.limits["Max core file size"] == .init(soft: 0, hard: nil))
        #expect(context.memory?.resident == 38_141_952)
        #expect(context.container?.memoryLimit == 536_870_912)
    }

    @Test func `A stall of version 1 can be read for ever`() throws {
        let report = try CrashReport(json: try Fixture.bytes("v1-stall.json"))
        #expect(report.kind == .stall)
        #expect(report.verdict.decision == .wait)
        let stall = try #require(report.stall)
        #expect(stall.number == 2)
        #expect(stall.subject == .loop)
        #expect(stall.label == "main loop")
        #expect(stall.threshold == 0.25 && stall.length == 1.873)
        #expect(stall.begin.description == "2026-11-21T06:40:10.283000Z")
        #expect(stall.end == .wentOn)
        #expect(stall.activities.map(\.activity) == [.running, .systemCall, .ready])
        #expect(stall.activities[1].systemCall == "write")
        #expect(stall.processorSeconds == 1.447131 && stall.waitedForProcessorSeconds == 0.021344)
        #expect(stall.profile?.calls.count == 11 && stall.profile?.callsOmitted == 4)
        #expect(stall.profile?.culprit?.function == "RetryQueue.sweep()")
        #expect(stall.lengths.steps == [.init(upTo: 0.5, count: 1), .init(upTo: 2, count: 2)])
        #expect(stall.ticks?.missed == 91 && stall.ticks?.lateness.count == 6214)
        let ping = try CrashReport(json: try Fixture.bytes("v1-ping.json"))
        #expect(ping.stall?.subject == .ping && ping.stall?.end == .never && ping.stall?.profile == nil)
        #expect(ping.thread.id == 0 && ping.otherThreads.count == 2)
    }

    @Test(arguments: Fixture.reports)
    func `Writing and reading gives the same report`(name: String) throws {
        let report = try CrashReport(json: try Fixture.bytes(name))
        #expect(try CrashReport(json: try report.json()) == report)
    }

    @Test(arguments: ["v1-stall.json", "v1-fault.json", "v1-everything.json", "v1-ping.json"])
    func `Writing loses no key`(name: String) throws {
        let bytes = try Fixture.bytes(name)
        let written = try CrashReport(json: bytes).json()
        let one = try JSONSerialization.jsonObject(with: Data(bytes)) as? NSDictionary
        let other = try JSONSerialization.jsonObject(with: Data(written)) as? NSDictionary
        #expect(one != nil)
        #expect(one == other)
    }

    @Test func `A report without the thread that faulted is refused`() throws {
        var object = try json(SampleReport.minimal())
        object["threads"] = [String]()
        let bytes = try bytes(object)
        let error = #expect(throws: ReportFormatError.self) { try CrashReport(json: bytes) }
        #expect(error?.description == "threads: the thread that faulted is missing")
    }

    @Test func `What is nil is absent, not null`() throws {
        let text = String(decoding: try SampleReport.minimal().json(), as: UTF8.self)
        #expect(!text.contains("null"))
        let keys = [
            "loop", "message", "sender", "addressKind", "buildID", "swift", "libc", "exception", "recovery",
            "isForkedChild", "context", "threadsOmitted", "diagnosis", "instructions", "memory", "state", "systemCall",
            "sampledAfter", "stall", "phase", "isFromStart",
        ]
        for key in keys {
            #expect(!text.contains("\"\(key)\""))
        }
    }

    @Test func `Unknown keys are ignored and unknown words are kept`() throws {
        var object = try json(SampleReport.minimal())
        object["future"] = ["a": 1]
        object["verdict"] = ["decision": "migrate", "reason": "r", "more": 2] as [String: Any]
        let report = try CrashReport(json: try bytes(object))
        #expect(report.verdict.decision.rawValue == "migrate")
    }

    @Test func `A report of another version is refused with a clear error`() throws {
        var object = try json(SampleReport.minimal())
        object["id"] = nil
        for version in [CrashReport.schemaVersion + 1, 99, 0, -1] {
            object["schemaVersion"] = version
            let bytes = try bytes(object)
            let error = #expect(throws: ReportFormatError.self) { try CrashReport(json: bytes) }
            #expect(error?.code == .unsupportedVersion)
            #expect(error?.description.contains("has schema version \(version), but") == true)
            #expect(error?.description.contains("versions up to 1") == true)
        }
    }

    @Test func `An error says where it is`() throws {
        var object = try json(SampleReport.minimal())
        object["process"] = ["name": "x"]
        let bytes = try bytes(object)
        let error = #expect(throws: ReportFormatError.self) { try CrashReport(json: bytes) }
        #expect(error?.description == "the key process.pid is missing")
    }

    @Test func `What JSON cannot say is an error`() {
        var report = SampleReport.minimal()
        report.process.uptimeSeconds = .nan
        let error = #expect(throws: ReportFormatError.self) { try report.json() }
        #expect(error?.code == .unrepresentable)
    }

    @Test func `JSON has no character that controls a terminal, yet loses none`() throws {
        let message = "a\u{1b}[31m\u{7f}\u{9b}\u{202e}\u{2028}\u{e0041}\nb"
        let report = SampleReport.minimal(message: message)
        let bytes = try report.json()
        let text = String(decoding: bytes, as: UTF8.self)
        for scalar in text.unicodeScalars where scalar != "\n" {
            #expect(scalar.properties.generalCategory != .control)
            #expect(scalar.properties.generalCategory != .format)
        }
        #expect(try CrashReport(json: bytes).fault?.message == message)
    }

    @Test func `Deep nesting is an error, not a stack overflow`() {
        let bytes = [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)
        #expect(throws: ReportFormatError.self) { try CrashReport(json: bytes) }
    }

    private func json(_ report: CrashReport) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(try report.json())) as? [String: Any])
    }

    private func bytes(_ object: [String: Any]) throws -> [UInt8] {
        try Array(JSONSerialization.data(withJSONObject: object))
    }
}
