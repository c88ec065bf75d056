import Foundation
import Glibc
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// Lists with filters and orders, groups, and what a check of the store says.
@Suite(.timeLimit(.minutes(10))) struct StoreListTests {
    private let temporary: TemporaryStore
    private var store: ReportStore { temporary.store }
    private let start = Timestamp(seconds: 1_795_000_000)

    init() throws {
        temporary = try TemporaryStore()
    }

    /// Writes reports, a minute apart.
    private func fill(_ changes: [(inout CrashReport) -> Void]) throws {
        for (number, change) in changes.enumerated() {
            let time = start.adding(seconds: Double(number) * 60)
            var report = SampleReport.minimal(id: ReportID(time: time), reason: "reason \(number)")
            report.timestamp = time
            report.occurrences = .init(count: 1, first: time, last: time)
            change(&report)
            try store.write(report)
        }
    }

    private func found(
        order: ReportOrder = .oldestFirst,
        limit: Int? = nil,
        _ narrow: (inout ReportFilter) -> Void = { _ in }
    ) throws -> [String] {
        var filter = ReportFilter()
        narrow(&filter)
        return try store.summaries(matching: filter, order: order, limit: limit).summaries.map(\.plainReason)
    }

    private func fillForFilters() throws {
        try fill([
            { $0.process.name = "mail" },
            { $0.fault?.signal = .signal(11) },
            { $0.verdict.decision = .resume },
            { $0.fingerprint = Fingerprint(rawValue: "v2-0123456789abcdef") },
            { $0.reason = "Größe of a FILE" },
            { $0.context = .init(tags: ["region": "eu-1", "zone": "b"]) },
            { $0.occurrences.last = self.start.adding(seconds: 3600) },
        ])
    }

    @Test func `A filter lets through what every part of it fits`() throws {
        try fillForFilters()
        #expect(try found().count == 7)
        #expect(try found { $0.process = "mail" } == ["reason 0"])
        #expect(try found { $0.process = "mai" }.isEmpty)
        for name in ["SIGSEGV", "segv", "Segv"] { #expect(try found { $0.signal = name } == ["reason 1"]) }
        #expect(try found { $0.verdict = .resume } == ["reason 2"])
        for prefix in ["v2-0123", "0123", "v2-0123456789ABCDEF"] {
            #expect(try found { $0.fingerprint = prefix } == ["reason 3"])
        }
        for text in ["größe", "a file", "FILE"] {
            #expect(try found { $0.text = text } == ["Größe of a FILE"])
        }
        #expect(try found { $0.text = "MAIL" } == ["reason 0"])
        #expect(try found { $0.tags = ["region": "eu-1"] } == ["reason 5"])
        #expect(try found { $0.tags = ["region": "eu-1", "zone": "a"] }.isEmpty)
        #expect(try found { $0.kind = .fault }.count == 7)
        #expect(try found { $0.kind = .init(rawValue: "other") }.isEmpty)
        let both = try found {
            $0.verdict = .resume
            $0.text = "mail"
        }
        #expect(both.isEmpty)
    }

    @Test func `A time is that of any occurrence`() throws {
        try fillForFilters()
        #expect(try found { $0.since = start.adding(seconds: 181) } == ["Größe of a FILE", "reason 5", "reason 6"])
        #expect(try found { $0.since = start.adding(seconds: 1800) } == ["reason 6"])
        #expect(try found { $0.until = start.adding(seconds: 60) } == ["reason 0", "reason 1"])
        let minute = try found {
            $0.since = start.adding(seconds: 60)
            $0.until = start.adding(seconds: 60)
        }
        #expect(minute == ["reason 1"])
    }

    @Test func `Orders and limits`() throws {
        try fill([
            { $0.occurrences.count = 2 },
            { $0.process.name = "z" },
            { $0.occurrences.count = 2 },
            { $0.reason = "a" },
        ])
        #expect(try found(order: .newestFirst) == ["a", "reason 2", "reason 1", "reason 0"])
        #expect(try found(order: .mostFrequentFirst) == ["reason 2", "reason 0", "a", "reason 1"])
        #expect(try found(order: .newestFirst, limit: 1) { $0.process = "agent" } == ["a"])
        #expect(try found(limit: 0).isEmpty)
    }

    @Test func `A group says how often, since when, and what it happened to`() throws {
        let fingerprint = Fingerprint(rawValue: "v2-aaaaaaaaaaaaaaaa")
        try fill([
            {
                $0.fingerprint = fingerprint
                $0.process.buildID = "one"
            },
            { $0.reason = "another" },
            {
                $0.fingerprint = fingerprint
                $0.process.buildID = "two"
                $0.process.name = "mail"
                $0.verdict.decision = .resume
                $0.occurrences = .init(count: 5, first: $0.timestamp, last: $0.timestamp.adding(seconds: 9))
            },
        ])
        let groups = try store.groups().groups
        #expect(groups.count == 2)
        let group = try #require(groups.first)
        #expect(group.fingerprint == fingerprint)
        #expect(group.count == 6)
        #expect(group.reports == 2)
        #expect(group.first == start)
        #expect(group.last == start.adding(seconds: 129))
        #expect(group.newest == (try store.last()?.id))
        #expect(group.reason == "reason 2")
        #expect(group.processes == ["agent", "mail"])
        #expect(group.verdicts == ["terminate": 1, "resume": 5])
        #expect(group.versions.map(\.buildID) == ["two", "one"])
        #expect(group.versions.map(\.count) == [5, 1])
        #expect(try store.groups(order: .oldestFirst, limit: 1).groups.map(\.count) == [6])
        #expect(try store.groups(matching: .init(text: "another")).groups.map(\.reports) == [1])
    }

    // MARK: Verify

    @Test func `A check names what is wrong, and puts right what loses nothing`() throws {
        try fill([{ _ in }, { _ in }])
        #expect(store.verify().findings.isEmpty)
        #expect(store.verify().reports == 2)
        let ids = try store.summaries().summaries.map(\.id)
        #expect(chmod(store.path(of: ids[0]).string, 0o644) == 0)
        #expect(chmod(store.reportsPath.string, 0o755) == 0)
        try temporary.plant("{".utf8, name: ".report.tmp")
        try temporary.plant("{".utf8, name: "holiday.json")
        try temporary.plant("{".utf8, name: "README")
        let damaged = ReportID(time: start)
        try temporary.plant("{".utf8, name: "\(damaged).json")
        try temporary.plant("{\"schemaVersion\": 99}".utf8, name: "\(ReportID(time: start)).json")
        try temporary.plant(Data("nothing".utf8), name: ".index")
        #expect(chmod(store.reportsPath.string, 0o755) == 0)
        let spool = store.spoolPath
        try Data().write(to: URL(fileURLWithPath: spool.appending("1-2.spool.damaged").string))
        try Data().write(to: URL(fileURLWithPath: spool.appending("1-3.spool").string))
        #expect(symlink("/etc/hostname", spool.appending("1-4.spool").string) == 0)
        // Whoever else keeps files here may call them as he likes.
        for name in ["\(damaged).json", "12-34.spool", "settings.json", "queue.spool", "notes"] {
            try Data().write(to: URL(fileURLWithPath: store.path.appending(name).string))
        }

        let wanted: [StoreFinding.Kind] = [
            .wrongMode, .wrongName, .damagedReport, .unsupportedVersion, .wrongMode, .leftover, .strangeFile,
            .damagedIndex,
            .unfinishedRecords, .damagedRecords, .symbolicLink, .wrongMode, .wrongMode, .wrongMode, .wrongMode,
            .strangeFile, .strangeFile,
        ]
        let findings = store.verify().findings
        #expect(findings.map(\.kind.rawValue).sorted() == wanted.map(\.rawValue).sorted())
        #expect(findings.allSatisfy { !$0.advice.isEmpty && !$0.problem.isEmpty && $0.repair == .none })

        let repaired = store.verify(repair: true).findings
        #expect(repaired.count { $0.repair == .done } == 8)
        let rest = Set(store.verify().findings.map(\.kind))
        #expect(rest.isDisjoint(with: [.wrongMode, .leftover, .damagedIndex, .staleIndex]))
        #expect(rest.contains(.damagedReport))
        #expect(FileManager.default.fileExists(atPath: store.path(of: damaged).string))
    }

    @Test func `A folder that others may read and change is closed to changes only`() throws {
        try fill([{ _ in }])
        #expect(chmod(store.path.string, 0o2775) == 0)
        #expect(store.verify(repair: true).findings.map(\.repair) == [.done])
        var status = stat()
        #expect(stat(store.path.string, &status) == 0)
        #expect(status.st_mode & 0o7777 == 0o2755)
    }

    @Test func `A count that is as large as can be stays so`() throws {
        try fill([{ $0.occurrences.count = .max }])
        let id = try #require(try store.summaries().summaries.first?.id)
        let last = start.adding(seconds: -10)
        let counted = try store.update(id) { $0.count(2, last: last) }
        #expect(counted.occurrences.count == .max)
        #expect(counted.occurrences.last > last)
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, who can give files away"))
    func `A store of another user is said to be one`() throws {
        try fill([{ _ in }])
        #expect(chown(store.path.string, 12345, 12345) == 0)
        #expect(store.verify().findings.map(\.kind) == [.wrongOwner])
        // Whoever copies it has it.
        let copy = temporary.directory.appending("copy")
        let result = try ProgramRun.run("/bin/cp", ["-r", "--no-preserve=ownership", store.path.string, copy.string])
        #expect(result.exitCode == 0)
        #expect(try ReportStore(path: copy).summaries().summaries.map(\.plainReason) == ["reason 0"])
    }
}
