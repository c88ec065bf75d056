import Foundation
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// Files in a store that cannot be read keep nobody from the reports behind them.
@Suite(.timeLimit(.minutes(10))) struct UnreadableFilesTests {
    private let temporary: TemporaryStore
    private let reports: [CrashReport]
    private var store: ReportStore { temporary.store }

    /// Names that are newer than those of all reports.
    private static let names = ["0fffffffffffffffffffffffffffff01", "0fffffffffffffffffffffffffffff02"]

    init() throws {
        temporary = try TemporaryStore()
        reports = try SampleStore.reports()
    }

    private func run(_ arguments: String...) throws -> ProgramRun {
        try ProgramRun.crashreport(arguments, environment: ["HOLDFAST_STORE": store.path.string])
    }

    /// Puts two files that are no reports in front of all others.
    private func plantJunk() throws {
        try temporary.plant(String(repeating: "[", count: 200_000).utf8, name: "\(Self.names[0]).json")
        try temporary.plant([], name: "\(Self.names[1]).json")
    }

    private func left() throws -> [ReportID] {
        try store.reportFiles().map(\.id)
    }

    @Test func `The last report is the newest that can be read, and what is newer is named in one line`() throws {
        try SampleStore.fill(store)
        let commands = [
            ["show", "last"], ["show", "last", "--json"], ["show", "last", "--raw"], ["path", "last"],
            ["diff", try #require(reports.first).id.rawValue, "last"], ["export", "last", "--format", "json-lines"],
        ]
        let environment = ["HOLDFAST_STORE": store.path.string]
        let before = try commands.map { try ProgramRun.crashreport($0, environment: environment) }
        try plantJunk()
        for (command, expected) in zip(commands, before) {
            let result = try ProgramRun.crashreport(command, environment: environment)
            #expect(result.exitCode == 0, "\(command)")
            // A length of time that counts from now may differ.
            if command != ["show", "last"] { #expect(result.output == expected.output, "\(command)") }
            let lines = result.errors.split(separator: "\n")
            #expect(lines.count == 1, "\(command): \(lines)")
            #expect(lines.first?.contains("\(Self.names[1]).json is not a readable report") == true)
            #expect(lines.first?.hasSuffix("1 older file cannot be read; the newest that can be read is taken") == true)
        }
        #expect(try store.last()?.id == reports.last?.id)
        try FileManager.default.removeItem(atPath: store.reportsPath.appending("\(Self.names[0]).json").string)
        let single = try run("show", "last").errors
        #expect(single.hasSuffix("move it out of the way; the newest that can be read is taken\n"), "\(single)")
    }

    @Test func `Where nothing can be read, the last is the newest file, as it is`() throws {
        try plantJunk()
        let result = try run("show", "last")
        #expect(result.exitCode == 65)
        #expect(result.errors.contains("\(Self.names[1]).json is not a readable report"))
        #expect(result.errors.split(separator: "\n").count == 1)
        #expect(try run("path", "last").output.hasSuffix("/\(Self.names[1]).json\n"))
        #expect(try run("show", "last", "--raw").exitCode == 0)
        #expect(throws: ReportStoreError.self) { try store.last() }
    }

    @Test func `Files that cannot be read are pruned before any report, and told apart`() throws {
        try SampleStore.fill(store)
        try plantJunk()
        // The junk has room beside the reports, and stays.
        #expect(try run("prune", "--keep", "9").output.hasPrefix("0 removed"))
        let planned = try run("prune", "--keep", "7", "--dry-run").output
        for name in Self.names { #expect(planned.contains("\(name)  ") && planned.contains("not a readable report")) }
        #expect(planned.contains("2 would be removed"), "\(planned)")
        #expect(try left().count == 9)
        let json = try run("prune", "--keep", "2", "--json")
        #expect(json.exitCode == 0)
        #expect(json.output.components(separatedBy: #""cause" : "unreadable""#).count == 3, "\(json.output)")
        #expect(try left() == [reports[6].id, reports[0].id])
        #expect(try run("list").errors == "")
    }

    @Test func `A limit of bytes costs no report what a file of no use has`() throws {
        try SampleStore.fill(store)
        try plantJunk()
        #expect(try run("prune", "--max-bytes", "190K").exitCode == 0)
        #expect(try left().dropFirst().map(\.rawValue) == reports.reversed().map(\.id.rawValue))
    }

    @Test(arguments: [["list"], ["list", "--group"], ["stats"], ["report", "--html", "-"]])
    func `That no report fits is no failure to read, as long as one can be read`(command: [String]) throws {
        let run = { (more: [String]) in
            try ProgramRun.crashreport(command + more, environment: ["HOLDFAST_STORE": self.store.path.string])
        }
        try plantJunk()
        #expect(try run([]).exitCode == 65)
        #expect(try run(["--process", "nobody"]).exitCode == 65)
        try SampleStore.fill(store)
        #expect(try run([]).exitCode == 0)
        let nothing = try run(["--process", "nobody"])
        #expect(nothing.exitCode == 1)
        #expect(nothing.errors.contains("no crash report in \(store.path) fits the filters"))
        #expect(nothing.errors.contains("\(Self.names[0]).json is not a readable report"))
    }
}
