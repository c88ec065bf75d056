import Foundation
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// Whole sessions, as somebody looked at them once.
@Suite(.timeLimit(.minutes(10))) struct SessionTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore()
        try SampleStore.fill(temporary.store)
    }

    private var store: [String] { ["--store", temporary.store.path.string] }

    /// What is not the same in every run or on every machine.
    private func masked(_ text: String) -> String {
        text.replacing(/, [0-9]+ (seconds|minutes|hours|days) ago/, with: ", N days ago")
            .replacing(temporary.directory.string, with: "TEMPORARY")
            .replacing(/[0-9.]+ KiB/, with: "N KiB")
            // Instructions are there where libcapstone is.
            .replacing(
                /(?m)^(\u{1b}\[[0-9]m)?[> ] ?(\u{1b}\[[0-9]m)*0x[0-9a-f]{16}  (\u{1b}\[[0-9]m)*[a-z].*\n/,
                with: ""
            )
    }

    private static let sessions: [(name: String, arguments: [String])] = [
        ("list", ["list"]), ("list-group", ["list", "--group", "--sort", "count"]), ("stats", ["stats"]),
        ("stats-day", ["stats", "--per", "day", "--limit", "1"]), ("diff", ["diff", "v2-1", "v2-2"]),
        ("prune", ["prune", "--dry-run", "--keep", "4"]),
    ]

    @Test(arguments: sessions.map(\.name)) func `Into a file`(name: String) throws {
        let arguments = try #require(Self.sessions.first { $0.name == name }).arguments
        let result = try ProgramRun.crashreport(arguments + store)
        #expect(result.exitCode == 0)
        #expect(result.errors == "")
        try Snapshot.check(masked(result.output), "\(name).txt")
    }

    @Test(arguments: ["list", "list-group", "stats", "diff"], [80, 120])
    func `To a terminal`(name: String, width: Int) throws {
        let arguments = try #require(Self.sessions.first { $0.name == name }).arguments
        let session = try TerminalSession(arguments + store, width: width)
        #expect(session.exitCode == 0)
        try Snapshot.check(masked(session.output), "\(name)-\(width).txt")
    }

    @Test(arguments: ["list", "stats"]) func `To a terminal that has only ASCII`(name: String) throws {
        let environment = ["LC_ALL": "C", "NO_COLOR": "1"]
        let session = try TerminalSession([name] + store, width: 120, environment: environment)
        #expect(session.output.utf8.allSatisfy { $0 == 10 || (0x20..<0x7f).contains($0) })
        try Snapshot.check(masked(session.output), "\(name)-ascii.txt")
    }

    @Test func `Errors on a terminal that has only ASCII are escaped, as tables are`() throws {
        let path = "/nowhere/é/\u{1b}.json"
        let ascii = try TerminalSession(["show", path], environment: ["LC_ALL": "C"])
        #expect(ascii.exitCode == 66)
        #expect(ascii.output == "crashreport: cannot read /nowhere/\\u{e9}/\\u{1b}.json: No such file or directory\n")
        #expect(try TerminalSession(["show", path]).output.contains("/nowhere/é/\\u{1b}.json"))
        let usage = try TerminalSession(["list", "--limit", "é"], environment: ["LC_ALL": "C"])
        #expect(usage.exitCode == 64)
        #expect(usage.output.contains("\\u{e9}"))
        #expect(usage.output.utf8.allSatisfy { $0 == 10 || (0x20..<0x7f).contains($0) })
    }

    @Test(arguments: ["v1-plain", "v1-everything"]) func `A report`(name: String) throws {
        let path = Fixture.url("\(name).json").path
        let plain = try ProgramRun.crashreport(["show", path, "--all-threads"])
        try Snapshot.check(masked(plain.output), "show-\(name).txt")
        let session = try TerminalSession(["show", path, "--full"], width: 90)
        try Snapshot.check(masked(session.output), "show-\(name)-90.txt")
        let brief = try TerminalSession(["show", path], width: 80)
        try Snapshot.check(masked(brief.output), "show-\(name)-brief-80.txt")
    }

    @Test(arguments: [
        "list", "show", "stats", "watch", "diff", "path", "verify", "prune", "export", "report", "symbolicate",
    ])
    func `Help has examples, and fits`(command: String) throws {
        let help = try ProgramRun.crashreport([command, "--help"])
        #expect(help.exitCode == 0)
        #expect(help.output.contains("EXAMPLES:\n  "))
        for line in help.output.split(separator: "\n") where line.hasPrefix("  crashreport") || line.hasPrefix("  if") {
            #expect(line.count <= 80, "\(line)")
        }
        // A line that was wrapped is another command to whoever pastes it.
        let rest = try #require(help.output.components(separatedBy: "EXAMPLES:\n").dropFirst().first)
        let examples = try #require(rest.components(separatedBy: "\n\n").first)
        for line in examples.split(separator: "\n") { #expect(line.hasPrefix("  "), "\(line)") }
    }
}
