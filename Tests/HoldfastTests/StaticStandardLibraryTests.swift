import CrashReports
import Foundation
import TestSupport
import Testing

/// A program with the standard library in it, as `swift build --static-swift-stdlib` makes it: it runs, and resumes nothing.
@Suite(.timeLimit(.minutes(10))) struct StaticStandardLibraryTests {
    /// What SwiftPM would ask for besides: modules that only modules of the standard library import.
    private static let libraries = [
        "_FoundationCollections", "_FoundationCShims", "FoundationEssentials", "swiftSynchronization", "swiftDispatch",
        "dispatch", "BlocksRuntime", "stdc++",
    ]

    /// Links the object files of the probe anew.
    private static func probe(in folder: TemporaryFolder) throws -> String {
        let path = folder.path + "/probe"
        let built = try BuiltProduct.path(of: "recovery-probe")
        let run = try ProgramRun.run(
            "/usr/bin/env",
            ["swiftc", "-static-stdlib", "-emit-executable", "-o", path, "@\(built).product/Objects.LinkFileList"]
                + ["-Xlinker", "--defsym", "-Xlinker", "main=recovery_probe_main"]
                + libraries.map { "-l\($0)" },
            within: .seconds(300)
        )
        guard run.end == .exited(0) else { throw HarnessError("swiftc: \(run.end) \(run.output) \(run.errors)") }
        return path
    }

    @Test func `It is linked, says at the start that nothing is resumed, and is restarted by a fault`() throws {
        let folder = try TemporaryFolder()
        let store = try StoreReader()
        let run = try ProgramRun.run(Self.probe(in: folder), ["own-code", store.path])
        #expect(run.end == .exited(0), "\(run.errors)")
        #expect(run.output == "restarted 1\n")
        #expect(run.errors.contains("no fault will be resumed: the Swift runtime is linked statically"))
        #expect(run.errors.contains("build without -static-stdlib"))
        let report = try store.onlyReport()
        #expect(report.verdict.decision == .restart)
    }
}
