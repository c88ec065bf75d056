import Foundation
import Glibc
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// Output that somebody stops reading, pages through, or follows.
@Suite(.timeLimit(.minutes(10))) struct PipeTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore()
        // More than a pipe holds.
        let message = String(repeating: "more than a pipe holds ", count: 10000)
        try temporary.store.write(SampleReport.minimal(id: try SampleReport.id("01a1"), message: message))
    }

    /// Runs a line of the shell in which `crashreport` is known, and so is the store.
    private func shell(_ line: String, environment: [String: String] = [:]) throws -> ProgramRun {
        let command = try BuiltProduct.path(of: "crashreport")
        let store = temporary.store.path.string
        let variables = ["HOLDFAST_STORE": store, "TERM": "xterm", "LC_ALL": "C.UTF-8"].merging(environment) { $1 }
        let script = "crashreport() { \"$0\" \"$@\"; }; \(line)"
        return try ProgramRun.run(
            "/bin/bash",
            ["-c", script, command],
            environment: variables,
            within: ProgramRun.patience
        )
    }

    @Test(arguments: ["show last", "show last --json", "show last --raw", "diff last last --json"])
    func `Who reads only the start is no failure`(arguments: String) throws {
        for ignored in ["", "trap '' PIPE; "] {
            let result = try shell("\(ignored)crashreport \(arguments) | head -c 1 >/dev/null; echo ${PIPESTATUS[0]}")
            #expect(result.output == "0\n")
            #expect(result.errors == "")
        }
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func `A full disk is a failure`() throws {
        let result = try shell("crashreport list >/dev/full")
        #expect(result.exitCode == 74)
        #expect(result.errors.contains("cannot write the output"))
        for arguments in ["--help", "help list", "--version", "--generate-completion-script bash"] {
            #expect(try shell("crashreport \(arguments) >/dev/full").exitCode == 74)
            #expect(try shell("crashreport \(arguments) | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}").exitCode == 0)
        }
    }

    @Test func `Long output goes through a pager on a terminal`() throws {
        let store = ["--store", temporary.store.path.string]
        let pager = ["PAGER": "sed -n '1s/^/PAGED /p'"]
        func show(_ arguments: String..., height: Int = 10, environment: [String: String]) throws -> String {
            try TerminalSession(
                ["show", "last", "--full"] + arguments + store,
                height: height,
                environment: environment
            ).output
        }
        #expect(try show(environment: pager).hasPrefix("PAGED "))
        #expect(try show(environment: pager).split(separator: "\n").count == 1)
        #expect(try !show("--no-pager", environment: pager).contains("PAGED"))
        #expect(try !show("--json", environment: pager).contains("PAGED"))
        #expect(try !show(height: 10000, environment: pager).contains("PAGED"))
        #expect(try !show(environment: pager.merging(["TERM": "dumb"]) { $1 }).contains("PAGED"))
        for none in ["", "cat"] { #expect(try show(environment: ["PAGER": none]).contains("more than a pipe holds")) }
        // Who quits at once has seen enough; a pager that is not there is made up for.
        #expect(try show(environment: ["PAGER": "exit 0;"]) == "")
        #expect(try show(environment: ["PAGER": "no-such-pager"]).contains("more than a pipe holds"))
    }

    @Test func `No pager where there is no terminal`() throws {
        #expect(try !shell("crashreport show last", environment: ["PAGER": "sed s/^/PAGED/"]).output.contains("PAGED"))
    }

    /// Starts to follow a store that is not there yet, and waits until that was looked for once.
    private func follow(_ store: ReportStore, _ arguments: String...) throws -> ChildProcess {
        let process = try ChildProcess(
            BuiltProduct.path(of: "crashreport"),
            ["watch", "--store", store.path.string, "--json-lines"] + arguments
        )
        // It has looked once when it says so.
        #expect(try complaint(0, of: process).contains("no store"))
        return process
    }

    /// Waits for a line of the standard error, by its number, and returns it.
    private func complaint(_ number: Int, of process: ChildProcess) throws -> String {
        try FolderWatch.wait(at: process.errorPath, for: "complaint \(number)") {
            let lines = process.errors.split(separator: "\n", omittingEmptySubsequences: false)
            // What follows the last newline was being written.
            return number < lines.count - 1 ? String(lines[number]) : nil
        }
    }

    /// Waits for the next line of JSON.
    private func summary(_ process: ChildProcess) throws -> ReportSummary {
        let line = try #require(try process.output.next())
        return try JSONDecoder().decode(ReportSummary.self, from: Data(line.utf8))
    }

    @Test func `Faults are followed, in a store that comes later, until nobody reads`() throws {
        let later = ReportStore(path: temporary.directory.appending("later"))
        let process = try follow(later, "--process", "agent")
        var other = SampleReport.minimal(id: try SampleReport.id("01"))
        other.process.name = "somebody else"
        try later.write(other)
        let ids = [try SampleReport.id("02"), try SampleReport.id("03")]
        for id in ids {
            try later.write(SampleReport.minimal(id: id))
            #expect(try summary(process).id == id)
        }
        try later.update(ids[0]) { $0.occurrences.count = 7 }
        let counted = try summary(process)
        #expect(counted.id == ids[0])
        #expect(counted.occurrences.count == 7)
        process.output.close()
        #expect(try process.wait() == .exited(0))
    }

    @Test func `What cannot be read is named once by who follows, and the next is printed`() throws {
        let later = ReportStore(path: temporary.directory.appending("later"))
        let process = try follow(later)
        try later.create()
        let damaged = later.path(of: try SampleReport.id("02")).string
        try Data("{".utf8).write(to: URL(fileURLWithPath: damaged))
        #expect(try complaint(1, of: process).hasPrefix("crashreport: \(damaged) is not a readable report"))
        // Another file with the same name, and the same to say of it; then one that can be read.
        try Data("{".utf8).write(to: URL(fileURLWithPath: damaged), options: .atomic)
        try later.write(SampleReport.minimal(id: try SampleReport.id("03")))
        #expect(try summary(process).id == SampleReport.id("03"))
        process.output.close()
        #expect(try process.wait() == .exited(0))
        // The two complaints, and nothing more.
        #expect(process.errors.split(separator: "\n").count == 2)
    }

    @Test func `Who would follow what is refused is told at once`() throws {
        let link = temporary.directory.appending("link").string
        #expect(symlink(temporary.store.path.string, link) == 0)
        let other = temporary.directory.appending("other").string
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
        #expect(symlink(temporary.store.reportsPath.string, other + "/reports") == 0)
        for (path, problem) in [
            (link, "is a symbolic link"), (other, "is a symbolic link"), ("/dev/null", "is not a directory"),
        ] {
            let command = [try BuiltProduct.path(of: "crashreport"), "watch", "--store", path]
            let result = try ProgramRun.run("/usr/bin/timeout", ["60"] + command, within: ProgramRun.patience)
            #expect(result.exitCode == 65)
            #expect(result.errors.contains(problem), "\(result.errors)")
            #expect(result.errors.split(separator: "\n").count == 1)
        }
    }

    @Test func `Following begins with the last ones if asked`() throws {
        try temporary.store.write(SampleReport.minimal(id: try SampleReport.id("01a2")))
        let result = try shell("crashreport watch --last 1 | head -n 1; echo ${PIPESTATUS[0]}")
        #expect(
            result.output == "01a200000000  2026-11-21 06:40:12  agent[12]  SIGABRT  terminate: abort, in main\n0\n"
        )
    }
}
