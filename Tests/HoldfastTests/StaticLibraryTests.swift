import CrashReports
import Glibc
import TestSupport
import Testing

/// A library that is linked into the executable has invariants like any other.
@Suite(.timeLimit(.minutes(10))) struct StaticLibraryTests {
    @Test(arguments: ["called-back", "called-back-inlined", "called-back-inlined-twice", "protected-call"])
    func `A fault above a C function that called back is not resumed`(scenario: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 1"])
        let report = try #require(run.reports.first)
        #expect(report.verdict.decision == .restart)
        #expect(report.verdict.reason.contains("C or C++ function of the executable"), "\(report.verdict.reason)")
    }

    @Test(
        arguments: [
            ("called-back-by-trusted-module", "going on"),
            ("called-back-by-trusted-function", "going on"),
            ("called-back-inlined-by-trusted-module", "going on, 1 under way"),
            ("called-back-inlined-by-trusted-function", "going on, 1 under way"),
        ]
    )
    func `Code that the policy vouches for is the application's`(scenario: String, line: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.end == .exited(0))
        #expect(run.lines == [line, "resumed 1"])
    }

    @Test(arguments: ["own-code", "own-c-function", "own-inlined-function"])
    func `Swift code, and C code that faults itself, are resumed as ever`(scenario: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.end == .exited(0))
        #expect(run.lines == ["going on", "resumed 1"])
    }

    /// A copy of the probe that went through `objcopy`.
    private func probe(_ options: String..., in folder: TemporaryFolder) throws -> String {
        let path = folder.path + "/probe"
        let built = try BuiltProduct.path(of: "recovery-probe")
        let run = try ProgramRun.run(
            "/usr/bin/env",
            ["objcopy"] + options + [built, path],
            within: .seconds(60)
        )
        guard run.end == .exited(0) else { throw HarnessError("objcopy: \(run.end) \(run.errors)") }
        return path
    }

    @Test(
        arguments: [
            ("own-code", "resumed 1"), ("called-back", "restarted 1"), ("called-back-by-trusted-function", "resumed 1"),
            ("called-back-by-trusted-module", "restarted 1"),
        ]
    )
    func `Names tell where there is no debug information`(scenario: String, last: String) throws {
        let folder = try TemporaryFolder()
        let run = try ProbeRun(scenario, program: probe("--strip-debug", in: folder))
        #expect(run.end == .exited(0))
        #expect(run.lines.last == last)
    }

    @Test(
        arguments: [
            ("own-code", "resumed 1"), ("called-back", "restarted 1"), ("called-back-by-trusted-module", "resumed 1"),
            ("called-back-inlined", "restarted 1"), ("called-back-inlined-by-trusted-module", "resumed 1"),
        ]
    )
    func `The debug file of a stripped program tells`(scenario: String, last: String) throws {
        let folder = try TemporaryFolder()
        let debugFile = folder.path + "/probe.debug"
        let built = try BuiltProduct.path(of: "recovery-probe")
        let copied = try ProgramRun.run("/usr/bin/env", ["objcopy", "--only-keep-debug", built, debugFile])
        #expect(copied.end == .exited(0))
        let program = try probe("--strip-all", "--add-gnu-debuglink=\(debugFile)", in: folder)
        let run = try ProbeRun(scenario, program: program)
        #expect(run.end == .exited(0))
        #expect(run.lines.last == last)
    }

    @Test func `In a stripped program nothing can be told, and nothing is resumed`() throws {
        let folder = try TemporaryFolder()
        let run = try ProbeRun("own-code", program: probe("--strip-all", in: folder))
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 1"])
        let report = try #require(run.reports.first)
        #expect(report.verdict.reason.contains("no symbols"), "\(report.verdict.reason)")
    }
}
