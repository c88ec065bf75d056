public import CrashReports
import Foundation
import SystemPackage

/// A store of reports, as `crashreport` and as a validator of JSON Schema see it.
public final class StoreReader: Sendable {
    private let folder: TemporaryFolder
    /// The store.
    public let path: String

    /// Names a store that is not there yet, in a folder of its own that goes with this object.
    public init() throws {
        folder = try TemporaryFolder()
        path = folder.path + "/store"
    }

    /// The paths of the reports that are whole.
    public func reportPaths() throws -> [String] {
        let reports = path + "/reports"
        return try FileManager.default.contentsOfDirectory(atPath: reports).filter { $0.hasSuffix(".json") }
            .map { "\(reports)/\($0)" }
    }

    /// The names of the files in the spool.
    public func spoolNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path + "/spool")
    }

    /// Waits until the store has so many reports: they are written in the background.
    public func waitForReports(_ count: Int) throws {
        try FolderWatch.wait(at: path + "/reports", for: "\(count) reports") {
            try reportPaths().count >= count ? () : nil
        }
    }

    /// Runs `crashreport` on the store.
    public func crashreport(_ arguments: [String]) throws -> ProgramRun {
        try ProgramRun.crashreport(arguments + ["--store", path])
    }

    /// What `crashreport list` lists, the newest first.
    public func list() throws -> [ReportSummary] {
        let run = try crashreport(["list", "--json", "--limit", "0"])
        // That a process was killed is told; that is no error.
        let errors = run.errors.split(separator: "\n").filter {
            !$0.contains(" ended without a word at ") && !$0.contains(" called exit without closing its host at ")
        }
        guard run.end == .exited(0) || run.end == .exited(1), errors.isEmpty || run.end == .exited(1) else {
            throw HarnessError("crashreport list: \(run.end) \(run.errors)")
        }
        return try JSONDecoder().decode([ReportSummary].self, from: Data(run.output.utf8))
    }

    /// What `crashreport show` shows.
    public func show(_ id: String) throws -> CrashReport {
        let run = try crashreport(["show", id, "--json"])
        guard run.end == .exited(0) else { throw HarnessError("crashreport show \(id): \(run.end) \(run.errors)") }
        return try CrashReport(json: Array(run.output.utf8))
    }

    /// The only report.
    public func onlyReport() throws -> CrashReport {
        let summaries = try list()
        guard summaries.count == 1, let summary = summaries.first else {
            throw HarnessError("\(summaries.count) reports, not one: \(summaries.map(\.reason))")
        }
        return try show(summary.id.rawValue)
    }

    /// All reports, in no order, from their files.
    public func reports() throws -> [CrashReport] {
        try reportPaths().map { try CrashReport(json: Array(Data(contentsOf: URL(fileURLWithPath: $0)))) }
    }

    private static let validator = """
        import json, sys
        from jsonschema import Draft202012Validator
        validator = Draft202012Validator(json.load(open(sys.argv[1])))
        count = 0
        for path in sys.argv[2:]:
            count += 1
            for error in validator.iter_errors(json.load(open(path))):
                print(path, error.json_path, error.message)
        print(count, "reports")
        """

    /// What an independent validator has against the reports, and how many it saw.
    public func violations() throws -> (texts: [String], count: Int) {
        try Self.violations(of: reportPaths())
    }

    /// What an independent validator has against some reports, and how many it saw.
    public static func violations(of paths: [String]) throws -> (texts: [String], count: Int) {
        let schema = BuiltProduct.package + "/Documentation/crash-report.schema.json"
        let run = try Python.run(["-c", validator, schema] + paths)
        var lines = run.output.split(separator: "\n").map(String.init)
        guard run.end == .exited(0), let count = lines.popLast()?.split(separator: " ").first.flatMap({ Int($0) })
        else {
            throw HarnessError("the validator failed: \(run.errors)")
        }
        return (lines, count)
    }
}
