import Foundation
import ReportTestSupport
import SystemPackage
import Testing

@testable import CrashReports
@testable import ReportText

/// The command with a terminal to write to.
@Suite(.timeLimit(.minutes(10))) struct TerminalTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore()
        let reason = String(repeating: "long ", count: 30)
        try temporary.store.write(SampleReport.minimal(message: "\u{1b}]0;owned\u{7}", reason: reason))
    }

    private func run(_ arguments: String..., width: Int = 100, environment: [String: String] = [:]) throws -> String {
        let store = ["--store", temporary.store.path.string]
        let session = try TerminalSession(arguments + store, width: width, environment: environment)
        #expect(session.exitCode == 0)
        return session.output
    }

    @Test func `Colours are used, and only colours`() throws {
        for output in [
            try run("list"), try run("list", "--group"), try run("stats"), try run("show", "last", "--all-threads"),
            try run("diff", "last", "last"),
        ] {
            #expect(output.contains("\u{1b}["))
            let plain = output.replacing(/\u{1b}\[[0-9;]*m/, with: "")
            #expect(!plain.contains("\u{1b}"))
            #expect(!plain.contains("\u{7}"))
        }
    }

    @Test(arguments: [["NO_COLOR": "1"], ["TERM": "dumb"]])
    func `Colours can be refused`(environment: [String: String]) throws {
        #expect(!(try run("list", environment: environment).contains("\u{1b}")))
        #expect(!(try run("show", "last", environment: environment).contains("\u{1b}")))
    }

    @Test func `An empty NO_COLOR refuses nothing`() throws {
        #expect(try run("list", environment: ["NO_COLOR": ""]).contains("\u{1b}"))
    }

    @Test(arguments: [1, 40, 80, 100, 132])
    func `A list fits the terminal`(width: Int) throws {
        let output = try run("list", width: width, environment: ["NO_COLOR": "1"])
        let lines = output.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { DisplayWidth.of($0) <= width })
        if width >= 80 { #expect(lines.last?.hasSuffix("terminate") == true) }
        #expect(output.contains("…"))
    }
}
