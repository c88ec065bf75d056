import Foundation
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// The published schema, by a validator that others wrote.
@Suite(.timeLimit(.minutes(10))) struct SchemaTests {
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
    private func validate(_ bytes: [UInt8], version: Int = CrashReport.schemaVersion) throws -> ProgramRun {
        let file = temporary.directory.appending("report.json").string
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        let name = version == CrashReport.schemaVersion ? "crash-report" : "crash-report-\(version)"
        let schema = BuiltProduct.file("Documentation/\(name).schema.json").path
        return try Python.run(["-c", Self.script, schema, file])
    }

    @Test(arguments: Fixture.reports)
    func `The fixtures are valid for the schema of their version, and only for that`(name: String) throws {
        for version in 1...CrashReport.schemaVersion {
            let result = try validate(try Fixture.bytes(name), version: version)
            let expected: Int32 = name.hasPrefix("v\(version)-") ? 0 : 7
            #expect(result.exitCode == expected, "\(result.output)\(result.errors)")
        }
    }

    @Test(arguments: Fixture.reports)
    func `Whatever was read is written as the current version`(name: String) throws {
        let report = try CrashReport(json: try Fixture.bytes(name))
        let result = try validate(try report.json())
        #expect(result.exitCode == 0, "\(result.output)\(result.errors)")
    }

    @Test func `The fixtures have every key of the schema between them`() throws {
        let schema = BuiltProduct.file("Documentation/crash-report.schema.json")
        let object = try JSONSerialization.jsonObject(with: Data(contentsOf: schema))
        let root = try #require(object as? [String: Any])
        let keys = try ["v1-everything.json", "v1-stall.json", "v1-death.json", "v1-exit.json"].reduce(
            into: Set<String>()
        ) { keys, name in
            keys.formUnion(Self.keys(of: try JSONSerialization.jsonObject(with: Data(Fixture.bytes(name)))))
        }
        let published = Self.properties(of: root, in: root)
        #expect(published.count > 140)
        #expect(published.subtracting(keys) == [])
    }

    /// The paths of all keys, with `[]` for the elements of an array.
    private static func keys(of value: Any, at path: String = "") -> Set<String> {
        if let array = value as? [Any] {
            return array.reduce(into: []) { $0.formUnion(keys(of: $1, at: path + "[]")) }
        }
        guard let object = value as? [String: Any] else { return [] }
        return object.reduce(into: []) {
            let key = "\(path)/\($1.key)"
            $0.insert(key)
            $0.formUnion(keys(of: $1.value, at: key))
        }
    }

    /// The same of all properties that a schema names.
    private static func properties(
        of schema: [String: Any],
        in root: [String: Any],
        at path: String = ""
    ) -> Set<String> {
        if let reference = schema["$ref"] as? String, let name = reference.split(separator: "/").last,
            let definitions = root["$defs"] as? [String: Any],
            let definition = definitions[String(name)] as? [String: Any]
        {
            return properties(of: definition, in: root, at: path)
        }
        var paths: Set<String> = []
        if let items = schema["items"] as? [String: Any] {
            paths.formUnion(properties(of: items, in: root, at: path + "[]"))
        }
        for (key, value) in schema["properties"] as? [String: [String: Any]] ?? [:] {
            paths.insert("\(path)/\(key)")
            paths.formUnion(properties(of: value, in: root, at: "\(path)/\(key)"))
        }
        return paths
    }

    @Test(arguments: ["v1-fault.json", "v1-stall.json"])
    func `The examples in the documentation are fixtures`(name: String) throws {
        let page = BuiltProduct.file("Documentation/CrashReportFormat.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let fixture = String(decoding: try Fixture.bytes(name), as: UTF8.self)
        #expect(text.contains("```json\n\(fixture)```\n"))
    }

    @Test func `Reports are valid with and without what is optional`() throws {
        var full = try CrashReport(json: try Fixture.bytes("v1-fault.json"))
        full.fault?.sender = .init(pid: 1, uid: 0)
        full.fault?.addressKind = .noCode
        full.images[1].buildID = "00ff"
        for report in [SampleReport.minimal(), full, SampleStall.report(calls: nil), SampleStall.ping()] {
            let result = try validate(try report.json())
            #expect(result.exitCode == 0, "\(result.output)\(result.errors)")
        }
    }

    @Test func `A kind and its section go together`() throws {
        let stall = String(decoding: try SampleStall.report().json(), as: UTF8.self)
        let fault = String(decoding: try SampleReport.minimal().json(), as: UTF8.self)
        for (text, kind, other) in [(stall, "stall", "fault"), (fault, "fault", "stall")] {
            #expect(text.contains("\"kind\" : \"\(kind)\""))
            let renamed = text.replacing("\"kind\" : \"\(kind)\"", with: "\"kind\" : \"\(other)\"")
            #expect(try validate(Array(renamed.utf8)).exitCode == 7)
            let both = text.replacing("\"\(kind)\" : {", with: "\"\(other)\" : {}, \"\(kind)\" : {")
            #expect(try validate(Array(both.utf8)).exitCode == 7)
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
