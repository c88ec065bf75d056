import CrashReports
import Foundation
import SystemPackage
import Testing

/// The published schema, by a validator that others wrote.
@Suite(.timeLimit(.minutes(5))) struct SchemaTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore()
    }

    private static let script = """
        import json, sys
        from jsonschema import Draft202012Validator
        schema = json.load(open(sys.argv[1]))
        Draft202012Validator.check_schema(schema)
        errors = list(Draft202012Validator(schema).iter_errors(json.load(open(sys.argv[2]))))
        for error in errors:
            print(error.json_path, error.message)
        sys.exit(7 if errors else 0)
        """

    /// 0 for a valid report, 7 for another one.
    private func validate(_ bytes: [UInt8]) throws -> ChildProcess {
        let file = temporary.directory.appending("report.json").string
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        let schema = Fixture.package.appendingPathComponent("Documentation/crash-report.schema.json").path
        return try ChildProcess("/usr/bin/env", ["python3", "-c", Self.script, schema, file])
    }

    @Test(arguments: ["v1.json", "v1-recovery.json"])
    func `The fixtures are valid`(name: String) throws {
        let result = try validate(try Fixture.bytes(name))
        #expect(result.exitCode == 0, "\(result.output)\(result.errors)")
    }

    @Test func `The example in the documentation is the fixture`() throws {
        let page = Fixture.package.appendingPathComponent("Documentation/CrashReportFormat.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let fixture = String(decoding: try Fixture.bytes("v1.json"), as: UTF8.self)
        #expect(text.contains("```json\n\(fixture)```\n"))
    }

    @Test func `Reports are valid with and without what is optional`() throws {
        var full = try CrashReport(json: try Fixture.bytes("v1.json"))
        full.fault.sender = .init(pid: 1, uid: 0)
        full.fault.addressKind = .nullPage
        full.images[1].buildID = "00ff"
        for report in [SampleReport.minimal(), full] {
            let result = try validate(try report.json())
            #expect(result.exitCode == 0, "\(result.output)\(result.errors)")
        }
    }

    @Test func `A report with another key or without one is not valid`() throws {
        let text = String(decoding: try SampleReport.minimal().json(), as: UTF8.self)
        let more = text.replacing("\"isMain\"", with: "\"extra\" : 1, \"isMain\"")
        let fewer = text.replacing("\"isMain\"", with: "\"notMain\"")
        #expect(try validate(Array(more.utf8)).exitCode == 7)
        #expect(try validate(Array(fewer.utf8)).exitCode == 7)
    }
}
