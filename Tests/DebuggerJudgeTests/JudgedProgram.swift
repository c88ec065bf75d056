import CrashReports
import Foundation
import Symbolication
import SystemPackage
import TestSupport

/// The frame probe as it was built, or stripped with its symbols beside it.
final class JudgedProgram: Sendable {
    enum Form: String, CaseIterable, Sendable {
        /// With debug information.
        case whole
        /// Without symbols; those are in a folder by build id.
        case stripped
    }

    let path: String
    let store: String
    /// Where its symbols are, and the system's.
    let debugFolders: [String]
    private let folder: TemporaryFolder

    /// Makes the program.
    ///
    /// - Parameters:
    ///   - form: Whether it is stripped.
    ///   - other: A frame probe of another build; nil for that of this one.
    /// - Throws: `HarnessError`, or an error of the file system.
    init(_ form: Form, other: String? = nil) throws {
        folder = try TemporaryFolder()
        store = folder.path + "/store"
        let built = try other ?? BuiltProduct.path(of: "frame-probe")
        switch form {
        case .whole:
            path = built
            debugFolders = DebugFileSearch.systemDirectories
        case .stripped:
            path = folder.path + "/frame-probe"
            debugFolders = [folder.path + "/debug"] + DebugFileSearch.systemDirectories
            let debugFile = folder.path + "/frame-probe.debug"
            try Self.objcopy(["--only-keep-debug", built, debugFile])
            try Self.objcopy(["--strip-all", built, path])
            let buildID = try Self.buildID(of: built)
            let target = "\(folder.path)/debug/.build-id/\(buildID.prefix(2))"
            try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
            try FileManager.default.moveItem(atPath: debugFile, toPath: "\(target)/\(buildID.dropFirst(2)).debug")
        }
    }

    /// Finishes the records that the program's runs left.
    func reports() throws -> [CrashReport] {
        let store = ReportStore(path: FilePath(store))
        let outcome = SpoolFinisher(store: store, folding: nil).finish()
        guard outcome.problems.isEmpty else { throw HarnessError("\(outcome.problems)") }
        return try outcome.reports.map { try store.load(prefix: $0.rawValue) }
    }

    private static func objcopy(_ arguments: [String]) throws {
        let run = try ProgramRun.run("/usr/bin/env", ["objcopy"] + arguments, within: .seconds(60))
        guard run.end == .exited(0) else { throw HarnessError("objcopy: \(run.end) \(run.errors)") }
    }

    private static func buildID(of path: String) throws -> String {
        let run = try ProgramRun.run("/usr/bin/env", ["readelf", "-n", path])
        guard let line = run.output.split(separator: "\n").first(where: { $0.contains("Build ID: ") }),
            let buildID = line.split(separator: " ").last
        else { throw HarnessError("\(path) has no build id") }
        return String(buildID)
    }
}
