import CrashReports
import Foundation
import Testing

@Suite struct CrashReportTests {
    @Test func `A report of version 1 can be read for ever`() throws {
        let report = try CrashReport(json: try Fixture.bytes("v1.json"))
        #expect(report.id.rawValue == "01a1fcd57d5b8f3e7b21d4a6905c1e77")
        #expect(report.timestamp.description == "2026-11-21T06:40:12.123456Z")
        #expect(report.process.arguments == ["mail-agent", "--port", "2525"])
        #expect(report.fault.signal == .signal(4))
        #expect(report.fault.code == .code(2, ofSignal: 4))
        #expect(report.loop?.callout?.kind == .timer)
        #expect(report.thread.frames.count == 5)
        #expect(report.thread.registers["rax"] == HexAddress(0))
        #expect(report.images[1].buildID == nil)
        #expect(report.verdict.decision == .resume)
        #expect(report.location == "Router.route(for:) (Router.swift:88)")
        #expect(report.runtimeFailure == "Unexpectedly found nil while unwrapping an Optional value")
    }

    @Test func `What was added to version 1 later is read, and absent from what was written before`() throws {
        let old = try CrashReport(json: try Fixture.bytes("v1.json"))
        #expect(old.recovery == nil)
        #expect(old.fault.exception == nil)
        #expect(old.process.isForkedChild == nil)
        let report = try CrashReport(json: try Fixture.bytes("v1-recovery.json"))
        let recovery = try #require(report.recovery)
        #expect(!recovery.drained)
        #expect(recovery.quarantined)
        #expect(recovery.heldLocks == 1)
        #expect(recovery.inLockFrame)
        #expect(recovery.touched == ["routing table", "retry queue"])
        #expect(report.fault.exception == .init(type: "std::out_of_range", message: "map::at"))
        #expect(report.process.isForkedChild == true)
    }

    @Test func `Writing and reading gives the same report`() throws {
        let fixtures = try ["v1.json", "v1-recovery.json"].map { try CrashReport(json: try Fixture.bytes($0)) }
        for report in [SampleReport.minimal()] + fixtures {
            #expect(try CrashReport(json: try report.json()) == report)
        }
    }

    @Test func `What is nil is absent, not null`() throws {
        let text = String(decoding: try SampleReport.minimal().json(), as: UTF8.self)
        #expect(!text.contains("null"))
        let keys = [
            "loop", "message", "sender", "addressKind", "buildID", "swift", "libc", "exception", "recovery",
            "isForkedChild",
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
        object["schemaVersion"] = 2
        object["id"] = nil
        let bytes = try bytes(object)
        let error = #expect(throws: ReportFormatError.self) { try CrashReport(json: bytes) }
        #expect(error?.code == .unsupportedVersion)
        #expect(error?.description.contains("schema version 2") == true)
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
        #expect(try CrashReport(json: bytes).fault.message == message)
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
