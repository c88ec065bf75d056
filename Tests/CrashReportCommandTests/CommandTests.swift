import Foundation
import LinuxSystem
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// The command, from end to end.
@Suite(.timeLimit(.minutes(10))) struct CommandTests {
    private let temporary: TemporaryStore
    private var store: ReportStore { temporary.store }

    init() throws {
        temporary = try TemporaryStore()
    }

    private func run(_ arguments: String..., environment: [String: String] = [:]) throws -> ProgramRun {
        let environment = environment.merging(["HOLDFAST_STORE": store.path.string]) { $1 }
        return try ProgramRun.crashreport(arguments, environment: environment)
    }

    @Test func `Reports are listed, the newest first`() throws {
        let ids = [try SampleReport.id("01a1fcd57d5b1"), try SampleReport.id("01a1fcd57d5b2")]
        for id in ids { try store.write(SampleReport.minimal(id: id)) }
        let result = try run("list")
        #expect(result.exitCode == 0)
        #expect(result.errors == "")
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(
            lines[0].split(separator: " ").joined(separator: " ")
                == "ID TIME (UTC) PROCESS PID SIGNAL REASON WHERE VERDICT"
        )
        #expect(
            lines[1].split(separator: " ").joined(separator: " ")
                == "01a1fcd57d5b2 2026-11-21 06:40:12 agent 12 SIGABRT abort main terminate"
        )
        #expect(try run("list", "--limit", "1").output.split(separator: "\n").count == 2)
        #expect(try run("list", "--limit", "0").output == result.output)
    }

    @Test func `A list for programs is an array of summaries`() throws {
        let report = SampleReport.minimal()
        try store.write(report)
        let result = try run("list", "--json")
        #expect(result.exitCode == 0)
        let summaries = try JSONDecoder().decode([ReportSummary].self, from: Data(result.output.utf8))
        #expect(summaries == [ReportSummary(report, in: store)])
    }

    @Test func `An empty store is told from a failure`() throws {
        for arguments in [["list"], ["show", "last"], ["list", "--json"], ["show", "last", "--json"]] {
            let environment = ["HOLDFAST_STORE": store.path.string]
            let result = try ProgramRun.crashreport(arguments, environment: environment)
            #expect(result.exitCode == 1)
            #expect(result.errors == "crashreport: no crash reports in \(store.path)\n")
            #expect(result.output == (arguments == ["list", "--json"] ? "[]\n" : ""))
        }
    }

    @Test func `A report is shown by its first digits, or as the last`() throws {
        let fixture = try CrashReport(json: try Fixture.bytes("v1-plain.json"))
        try store.write(fixture)
        let result = try run("show", "01a1", "--full")
        #expect(result.exitCode == 0)
        for part in [
            "Unexpectedly found nil while unwrapping an Optional value: resume", "SIGILL (ILL_ILLOPN)",
            fixture.id.rawValue,
            "> 1  Router.route(for:) + 189 at Router.swift:88:40", "[inlined]", "mode default, beforeTimers",
            "timer \"retry queue\" (item 17), nesting 1, pass 90412", "libc.so.6+0x2724a", "rip 0x00005581c2a41b7d",
            "/usr/lib/x86_64-linux-gnu/libc.so.6", "the record was finished by a later process",
        ] {
            #expect(result.output.contains(part), "\(part)")
        }
        #expect(try run("show", "last", "--full").output == result.output)
        let json = try run("show", "last", "--json")
        #expect(try CrashReport(json: Array(json.output.utf8)) == fixture)
        #expect(json.output == String(decoding: try fixture.json(), as: UTF8.self))
    }

    @Test func `What was done around a fault is told`() throws {
        try store.write(try CrashReport(json: try Fixture.bytes("v1-recovery.json")))
        let output = try run("show", "last", "--full").output
        for part in [
            "uncaught C++ exception std::out_of_range: map::at: resume", "exception std::out_of_range: map::at\n",
            "recovery  what faulted was quarantined; a lock was held; it was inside a function that holds a lock\n",
            "touched   routing table, retry queue\n", "pid 4243, a forked child of 4242\n",
        ] {
            #expect(output.contains(part), "\(part)")
        }
        let list = try run("list")
        #expect(list.output.split(separator: "\n").last?.hasSuffix("resume, quarantined") == true)
        #expect(try run("list", "--json").output.contains("\"quarantined\" : true"))
    }

    @Test func `A report says that the process drained, and how many locks were held`() throws {
        try store.write(SampleReport.minimal(recovery: .init(drained: true, heldLocks: 3)))
        let output = try run("show", "last", "--full").output
        #expect(output.contains("recovery  the process drained before it was restarted; 3 locks were held\n"))
        #expect(!output.contains("touched"))
    }

    @Test func `Repeated faults are counted`() throws {
        var report = SampleReport.minimal()
        report.occurrences.count = 9900
        try store.write(report)
        #expect(try run("list").output.contains("abort (9900 times)"))
        #expect(try run("show", "last").output.contains("new: 9900 times, first 2026-11-21 06:40:12"))
    }

    @Test func `The source around the fault is shown`() throws {
        let file = temporary.directory.appending("Agent.swift").string
        try "one\n\ttwo\u{1b}\nthree\nfour\nfive\nsix\n".write(toFile: file, atomically: false, encoding: .utf8)
        var frame = SampleReport.frame(0, "main", line: 2)
        frame.file = file
        try store.write(SampleReport.minimal(frames: [frame]))
        let output = try run("show", "last", "--full").output
        #expect(output.contains("  1 | one\n> 2 |     two\\u{1b}\n  3 | three\n"))
        #expect(output.contains("five"))
        #expect(!output.contains("six"))
    }

    @Test func `An identifier of no report or of two is no input`() throws {
        try store.write(SampleReport.minimal(id: try SampleReport.id("01")))
        try store.write(SampleReport.minimal(id: try SampleReport.id("02")))
        #expect(try run("show", "0").exitCode == 66)
        #expect(try run("show", "0").errors.contains("more than one report"))
        for id in ["ff", "", "../nowhere", "\u{1b}"] {
            let result = try run("show", id)
            #expect(result.exitCode == 66)
            #expect(result.output == "")
            #expect(result.errors.split(separator: "\n").count == 1)
            #expect(!result.errors.contains("\u{1b}"))
        }
    }

    @Test func `A damaged report does not stop the list`() throws {
        let damaged = try SampleReport.id("ff")
        try temporary.plant("{".utf8, name: "\(damaged).json")
        #expect(try run("list").exitCode == 65)
        #expect(try run("list", "--json").output == "[]\n")
        try store.write(SampleReport.minimal())
        let list = try run("list")
        #expect(list.exitCode == 0)
        #expect(list.output.split(separator: "\n").count == 2)
        #expect(list.errors.split(separator: "\n").count == 1)
        #expect(list.errors.contains("\(damaged).json"))
        #expect(try run("show", "last").exitCode == 0)
        #expect(try run("show", "ff").exitCode == 65)
    }

    @Test func `A store that is a symbolic link is refused`() throws {
        try store.create()
        let link = temporary.directory.appending("link").string
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: store.path.string)
        let result = try run("list", "--store", link)
        #expect(result.exitCode == 65)
        #expect(result.errors.contains("symbolic link"))
    }

    @Test(arguments: [
        ["--wrong"], ["show"], ["list", "--limit", "x"], ["list", "--limit=-1"], ["list", "--store", ""], ["remove"],
    ])
    func `Wrong usage has a status of its own`(arguments: [String]) throws {
        #expect(try ProgramRun.crashreport(arguments).exitCode == 64)
    }

    @Test func `Without a place to look there is nothing to list`() throws {
        let result = try ProgramRun.crashreport(["list"])
        #expect(result.exitCode == 64)
        #expect(result.errors.contains("HOLDFAST_STORE"))
    }

    @Test func `Help and version are no faults`() throws {
        let help = try run("--help")
        #expect(help.exitCode == 0)
        #expect(help.output.contains("EXAMPLES:"))
        #expect(try run("--version").output == "\(HoldfastVersion.current)\n")
        #expect(try run("show", "--help").exitCode == 0)
    }
}
