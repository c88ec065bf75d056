import CrashReports
import TestSupport
import Testing

/// Libraries that come and go.
@Suite(.timeLimit(.minutes(10))) struct ReloadedLibraryTests {
    private static func library(_ name: String, in folder: TemporaryFolder) throws -> String {
        let source = try folder.write(
            "void plugin_fault_\(name)(void) { __builtin_trap(); }\n",
            to: "\(name).c"
        )
        let path = "\(folder.path)/lib\(name).so"
        let run = try ProgramRun.run(
            "/usr/bin/env",
            ["clang", "-shared", "-fPIC", "-Wl,--build-id", "-o", path, source]
        )
        #expect(run.end == .exited(0), "\(run.errors)")
        return path
    }

    @Test func `A library in the place of one that was unloaded is told by its own name`() throws {
        let folder = try TemporaryFolder()
        let one = try Self.library("one", in: folder)
        let two = try Self.library("two", in: folder)
        let run = try ProbeRun("reloaded-library", environment: ["PLUGIN_ONE": one, "PLUGIN_TWO": two])
        #expect(run.lines == ["same place true", "restarted 1"])
        let report = try #require(run.reports.first)
        #expect(report.thread.frames.first?.function == "plugin_fault_two")
        #expect(report.images.contains { $0.path == two })
        #expect(!report.images.contains { $0.path == one })
    }
}
