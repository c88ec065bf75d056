import Foundation
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// How the command, and a service, get onto a machine.
@Suite(.timeLimit(.minutes(10))) struct InstallTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore()
    }

    private var prefix: String { temporary.directory.appending("prefix with a space").string }

    private func install(_ arguments: [String]) throws -> ProgramRun {
        try ProgramRun.run(BuiltProduct.file("Tools/install").path, arguments, within: ProgramRun.patience)
    }

    @Test func `The command is installed with its manual and its completions`() throws {
        let built = try BuiltProduct.path(of: "crashreport")
        // Over what is there, too.
        for _ in 0..<2 {
            let result = try install(["--prefix", prefix, "--program", built])
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(result.output.contains("is not on the PATH"))
        }
        let version = try ProgramRun.run("\(prefix)/bin/crashreport", ["--version"])
        let same = try ProgramRun.run(built, ["--version"])
        #expect(version.exitCode == 0 && version.output == same.output)
        let files = try FileManager.default.subpathsOfDirectory(atPath: "\(prefix)/share")
        let pages = try FileManager.default.contentsOfDirectory(atPath: BuiltProduct.file("Documentation/man").path)
        for page in pages { #expect(files.contains("man/man1/\(page)"), "\(page)") }
        for (file, words) in [
            ("bash-completion/completions/crashreport", "complete "),
            ("zsh/site-functions/_crashreport", "#compdef crashreport"),
            ("fish/vendor_completions.d/crashreport.fish", "complete -c 'crashreport'"),
            ("bash-completion/completions/holdfast", "complete "),
            ("zsh/site-functions/_holdfast", "#compdef holdfast"),
            ("fish/vendor_completions.d/holdfast.fish", "complete -c holdfast"),
        ] {
            let text = try String(contentsOfFile: "\(prefix)/share/\(file)", encoding: .utf8)
            #expect(text.contains(words), "\(file)")
        }
    }

    @Test(arguments: [["--prefix"], ["--prefix", ""], ["--program", "/bin/true"], ["--prefixes", "x"]])
    func `A wrong command line installs nothing`(arguments: [String]) throws {
        let result = try install(arguments)
        #expect(result.exitCode == 64)
        #expect(result.errors.contains("--help"))
    }

    @Test func `A place that cannot be written to is said to be one`() throws {
        try temporary.plant([1], name: "file")
        let path = temporary.store.reportsPath.appending("file").string
        let result = try install(["--prefix", path, "--program", try BuiltProduct.path(of: "crashreport")])
        #expect(result.exitCode == 1)
        #expect(result.errors.contains("name another --prefix"))
    }

    private static let verifier = "/usr/bin/systemd-analyze"

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: verifier), "needs systemd-analyze"))
    func `systemd accepts the unit of README`() throws {
        let readme = try String(contentsOf: BuiltProduct.file("README.md"), encoding: .utf8)
        let unit = String(try #require(readme.firstMatch(of: /```ini\n([\s\S]*?)```/)).1)
        for setting in ["Restart=", "RestartPreventExitStatus=125", "StateDirectory=", "StartLimitIntervalSec=0"] {
            #expect(unit.contains("\n\(setting)"), "\(setting)")
        }
        #expect(unit.contains("ExecStart=/usr/local/bin/greeter\n"))
        // The program is not there, and systemd looks for it.
        let whole = unit.replacing("/usr/local/bin/greeter", with: "/bin/true")
        let verdict = try verify(whole)
        #expect(verdict.exitCode == 0 && verdict.errors == "", "\(verdict.errors)")
        // What verifies finds mistakes where there are some.
        let wrong = try verify(whole.replacing("RestartPreventExitStatus=125", with: "RestartPreventExitCode=125"))
        #expect(!wrong.errors.isEmpty)
    }

    private func verify(_ unit: String) throws -> ProgramRun {
        let file = temporary.directory.appending("greeter.service").string
        try unit.write(toFile: file, atomically: false, encoding: .utf8)
        return try ProgramRun.run(Self.verifier, ["verify", "--man=no", file])
    }
}
