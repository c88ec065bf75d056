import Foundation
import Glibc
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// The commands that name, compare, check and remove.
@Suite(.timeLimit(.minutes(10))) struct StoreCommandTests {
    private let temporary: TemporaryStore
    private let reports: [CrashReport]

    init() throws {
        temporary = try TemporaryStore()
        try SampleStore.fill(temporary.store)
        reports = try SampleStore.reports()
    }

    private func run(_ arguments: String...) throws -> ProgramRun {
        try ProgramRun.crashreport(arguments, environment: ["HOLDFAST_STORE": temporary.store.path.string])
    }

    private func id(_ number: Int) -> String { String(reports[number - 1].id.rawValue.prefix(13)) }

    @Test func `Paths are those of the store and of its reports`() throws {
        #expect(try run("path").output == "\(temporary.store.path)\n")
        #expect(try run("path", "last").output == "\(temporary.store.path(of: reports[6].id))\n")
        #expect(try run("path", "v2-3").output == "\(temporary.store.path(of: reports[4].id))\n")
        #expect(try run("path", "ffff").exitCode == 66)
        // A store need not exist to have a path.
        #expect(try run("path", "--store", "/nowhere/at/all").output == "/nowhere/at/all\n")
    }

    @Test func `A report is named by its group, or by its file, wherever that is`() throws {
        let newest = try run("show", "last", "--json").output
        #expect(try run("show", "v2-1", "--json").output == newest)
        let file = temporary.directory.appending("mailed.json").string
        try newest.write(toFile: file, atomically: false, encoding: .utf8)
        #expect(try run("show", file, "--json").output == newest)
        #expect(try run("show", "/nowhere/mailed.json").exitCode == 66)
        #expect(try run("show", temporary.directory.string).exitCode == 66)
        #expect(try run("show", BuiltProduct.file("Package.swift").path).exitCode == 65)
    }

    @Test func `The bytes of a report are given as they are, damaged or not`() throws {
        let bytes = "{ \"a\": \"\u{1b}[31m\"  }"
        try temporary.plant(bytes.utf8, name: "\(reports[0].id).json")
        #expect(try run("show", id(1), "--raw").output == bytes)
        #expect(try run("show", id(1)).exitCode == 65)
        let file = try String(
            contentsOfFile: run("path", "last").output.trimmingCharacters(in: .newlines),
            encoding: .utf8
        )
        #expect(try run("show", "last", "--raw").output == file)
    }

    private struct Comparison: Decodable {
        struct Field: Decodable {
            var name: String
            var first: String?
            var second: String?
        }
        var isSameGroup: Bool
        var differences: [Field]
    }

    private func compare(_ first: String, _ second: String) throws -> Comparison {
        let result = try run("diff", first, second, "--json")
        return try JSONDecoder().decode(Comparison.self, from: Data(result.output.utf8))
    }

    @Test func `Two reports are compared`() throws {
        let same = try compare(id(1), id(2))
        #expect(same.isSameGroup)
        #expect(same.differences.map(\.name) == ["build", "tag region"])
        #expect(same.differences.map(\.first) == ["aaaa0000", "us-2"])
        #expect(same.differences.map(\.second) == ["bbbb1111", "eu-1"])
        let other = try compare(id(1), id(5))
        #expect(!other.isSameGroup)
        #expect(other.differences.map(\.name).prefix(3) == ["reason", "where", "signal"])
        let text = try run("diff", id(1), id(5)).output
        for part in [
            "They are of different groups, v2-1111111111111111 and v2-3333333333333333.\n",
            "\n- Router.route(for:) (Agent.swift:88)\n+ Cache.evict() (Agent.swift:88)\n  main (Agent.swift:12)\n",
            "\nverdict\n  - resume\n  + terminate\n",
        ] {
            #expect(text.contains(part), "\(part)")
        }
        #expect(try run("diff", id(1), id(1)).output.contains("Nothing else differs."))
        // The same report, whose fingerprint was made by the rule of its time.
        var ruledOtherwise = try CrashReport(json: try Fixture.bytes("v1-fault.json"))
        ruledOtherwise.fingerprint = Fingerprint(rawValue: "v0-19b7455d821ef111")
        let old = temporary.directory.appending("old.json").string
        try Data(ruledOtherwise.json()).write(to: URL(fileURLWithPath: old))
        let new = Fixture.url("v1-fault.json").path
        #expect(try compare(old, new).isSameGroup)
        #expect(try run("diff", old, new).output.contains("They are of the same group, by today's rule, v2-"))
        #expect(try run("diff", id(1), "ffff").exitCode == 66)
    }

    @Test func `What there is no room for is removed, after a rehearsal`() throws {
        let rehearsal = try run("prune", "--keep", "4", "--dry-run")
        #expect(rehearsal.exitCode == 0)
        #expect(rehearsal.output.contains("3 would be removed"))
        #expect(try temporary.store.reportFiles().count == 7)
        let removal = try run("prune", "--keep", "4", "--json")
        #expect(removal.exitCode == 0)
        #expect(removal.output.contains("\"keptReports\" : 4"))
        #expect(try temporary.store.reportFiles().count == 4)
        #expect(try run("prune", "--max-bytes", "0").output.contains("4 removed"))
        #expect(try run("list").exitCode == 1)
    }

    @Test func `A sound store is told from a damaged one`() throws {
        let sound = try run("verify")
        #expect(sound.exitCode == 0)
        #expect(sound.output.contains("7 reports can be read"))
        try temporary.plant("{".utf8, name: "\(reports[0].id).json")
        let damaged = try run("verify", "--json")
        #expect(damaged.exitCode == 65)
        #expect(damaged.output.contains("\"kind\" : \"damaged-report\""))
        #expect(try run("verify").output.contains("\(reports[0].id).json"))
    }

    @Test(arguments: [["verify"], ["verify", "--json"], ["verify", "--repair"], ["prune"], ["prune", "--json"]])
    func `No store is not a sound one`(arguments: [String]) throws {
        let path = temporary.directory.appending("none").string
        let none = try ProgramRun.crashreport(arguments + ["--store", path])
        #expect(none.exitCode == 1)
        #expect(none.output == "")
        #expect(none.errors == "crashreport: there is no store at \(path)\n")
        // A state directory that no process has written into yet.
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(try ProgramRun.crashreport(arguments + ["--store", path]).exitCode == 1)
        try ReportStore(path: FilePath(path)).create()
        #expect(try ProgramRun.crashreport(arguments + ["--store", path]).exitCode == 0)
    }

    @Test func `A store that is refused is said to be so`() throws {
        let link = temporary.directory.appending("link").string
        #expect(symlink("nowhere", link) == 0)
        #expect(try run("verify", "--store", link).output.contains("symbolic-link: \(link)"))
        #expect(try run("verify", "--store", link).exitCode == 65)
        #expect(try run("prune", "--store", link).exitCode == 65)
    }

    @Test func `A store is read wherever it was copied to`() throws {
        let copy = temporary.directory.appending("copy").string
        try FileManager.default.copyItem(atPath: temporary.store.path.string, toPath: copy)
        #expect(try run("list", "--store", copy).output == run("list").output)
        #expect(try run("show", "last", "--store", copy).exitCode == 0)
    }

    @Test(.enabled(if: dlopen("libcapstone.so.4", RTLD_NOW) != nil || dlopen("libcapstone.so.5", RTLD_NOW) != nil))
    func `Bytes at the program counter are instructions where the library is there`() throws {
        var report = reports[0]
        report.fault?.instructions = .init(address: HexAddress(0x1010), bytes: "0f0b488b45f8c3", about: "code")
        report.fault?.code = .code(1, ofSignal: 4)
        report.thread.registers["rip"] = HexAddress(0x1010)
        try temporary.store.write(report)
        let output = try run("show", id(1), "--full").output
        #expect(output.contains("> 0x0000000000001010  ud2\n  0x0000000000001012  mov rax, qword ptr [rbp - 8]\n"))
        #expect(output.contains("  bytes <0f> 0b 48 8b 45 f8 c3\n"))
    }
}
