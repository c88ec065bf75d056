import Foundation
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports
@testable import ReportText

/// What somebody on call asks first.
@Suite(.timeLimit(.minutes(10))) struct OnCallTests {
    private let temporary: TemporaryStore
    private var store: ReportStore { temporary.store }

    init() throws {
        temporary = try TemporaryStore()
        try SampleStore.fill(temporary.store)
    }

    /// One hour ahead of UTC in winter, without a database of time zones.
    private static let zone = ["TZ": "CET-1CEST,M3.5.0,M10.5.0/3"]

    private func run(_ arguments: String..., environment: [String: String] = [:]) throws -> ProgramRun {
        let environment = environment.merging(["HOLDFAST_STORE": store.path.string]) { $1 }
        return try ProgramRun.crashreport(arguments, environment: environment)
    }

    private func id(_ number: Int) throws -> String {
        try #require(store.summaries().summaries.first { $0.pid == 4000 + number }).id.rawValue
    }

    // MARK: Whether it is new

    @Test func `A report says what its group knows`() throws {
        let known = try run("show", id(4)).output
        #expect(
            known.contains(
                "group     known: 44 times in 4 reports, first 2026-11-15 04:00:00, last 2026-11-21 02:00:00 UTC\n"
            )
        )
        #expect(known.contains("          since build aaaa0000; this is build bbbb1111\n"))
        #expect(
            try run("show", id(5)).output.contains("group     new: never seen before in this store, build bbbb1111\n")
        )
        #expect(try run("show", id(1)).output.contains("group     new then: 44 times in 4 reports, first"))
        #expect(try run("show", id(4), "--full").output.contains("group     known: 44 times"))
        // A file that somebody sent is in no store.
        #expect(try !run("show", Fixture.url("v1-plain.json").path).output.contains("\ngroup "))
    }

    @Test func `Without more to ask, a report is at most 45 lines`() throws {
        for number in 1...7 {
            #expect(
                try run("show", id(number)).output.split(separator: "\n", omittingEmptySubsequences: false).count <= 46
            )
        }
        let path = Fixture.url("v1-everything.json").path
        let brief = try run("show", path).output
        #expect(brief.split(separator: "\n", omittingEmptySubsequences: false).count <= 46)
        #expect(!brief.contains("\nRegisters\n") && brief.contains("\n--full shows the rest"))
        #expect(try run("show", path, "--full").output.contains("\nImages\n"))
    }

    // MARK: Filters

    private func numbers(_ arguments: String...) throws -> [Int] {
        let result = try ProgramRun.crashreport(["list", "--json", "--store", store.path.string] + arguments)
        return try JSONDecoder().decode([ReportSummary].self, from: Data(result.output.utf8)).map { $0.pid - 4000 }
    }

    @Test func `Reports are found by process, host and build`() throws {
        var other = try #require(SampleStore.reports().last)
        other.id = ReportID(time: other.timestamp.adding(seconds: 60))
        other.process.pid = 4008
        other.host.name = "mx1.example.org"
        other.context?.tags["release"] = "1.4.2"
        try store.write(other)
        // From the index, and without it.
        for _ in 0..<2 {
            #expect(try numbers("--pid", "4005") == [5])
            #expect(try numbers("--pid", "5") == [])
            #expect(try numbers("--host", "MX1") == [8] && numbers("--host", "mx1.example.org") == [8])
            #expect(try numbers("--host", "mx") == [] && numbers("--host", "host").count == 7)
            #expect(try numbers("--build", "aaaa") == [1] && numbers("--build", "BBBB1111") == [8, 7, 5, 4, 2])
            #expect(try numbers("--build", "1.4") == [8] && numbers("--build", "1111") == [])
            try? FileManager.default.removeItem(atPath: store.reportsPath.appending(".index").string)
        }
        #expect(try run("list", "--pid", "x").exitCode == 64)
    }

    // MARK: Local times

    @Test func `Times are those of this machine where that is asked for`() throws {
        let utc = try run("list", "--limit", "1", environment: Self.zone).output
        #expect(utc.contains("TIME (UTC)") && utc.contains("2026-11-21 02:00:00"))
        let list = try run("list", "--limit", "1", "--local", environment: Self.zone).output
        #expect(list.contains("TIME (local)") && list.contains("2026-11-21 03:00:00"))
        let groups = try run("list", "--group", "--local", environment: Self.zone).output
        #expect(groups.contains("LAST (local)") && groups.contains("2026-11-21 03:00:00"))
        let show = try run("show", "last", "--local", "--full", environment: Self.zone).output
        #expect(show.contains("when      2026-11-21 03:00:00 CET,") && show.contains("since 2026-11-21 02:59:00 CET"))
        #expect(show.contains("last 2026-11-21 03:00:00 CET"))
        #expect(
            try run("show", "last", "--local", environment: Self.zone).output.contains(
                "when      2026-11-21 03:00:00 CET"
            )
        )
        #expect(
            try run("diff", id(1), "last", "--local", environment: Self.zone).output.contains("2026-11-21 03:00:00 CET")
        )
        let stats = try run("stats", "--local", "--per", "hour", environment: Self.zone).output
        #expect(
            stats.contains("2026-11-15 05:00:00 to 2026-11-21 03:00:00 CET")
                && stats.contains("(local)\n2026-11-15 05:00  ")
        )
        let page = try run("report", "--html", "-", "--local", environment: Self.zone).output
        #expect(page.contains(">2026-11-21 03:00:00<") && page.contains("2026-11-21 03:00 CET"))
        #expect(page.contains("All times are those of the machine"))
        #expect(try run("report", "--html", "-", environment: Self.zone).output.contains("All times are UTC."))
        // What a program reads is UTC.
        #expect(try run("list", "--json", "--local", environment: Self.zone).output == run("list", "--json").output)
    }

    @Test(arguments: [
        (["--since", "03:00", "--until", "03:30"], 0), (["--since", "2026-11-21 03:00"], 1),
        (["--since", "2026-11-21T02:00:00Z"], 1), (["--since", "2026-11-21 03:01"], 0),
        (["--since", "2026-11-21"], 2), (["--since", "@1795226400"], 1),
    ])
    func `What is typed is local, too`(arguments: [String], count: Int) throws {
        let result = try ProgramRun.crashreport(
            ["list", "--json", "--local", "--store", store.path.string] + arguments,
            environment: Self.zone
        )
        #expect(try JSONDecoder().decode([ReportSummary].self, from: Data(result.output.utf8)).count == count)
    }

    // MARK: Two equal faults

    @Test func `Two equal faults have nothing different but the run`() throws {
        var first = try #require(SampleStore.reports().last)
        first.thread.frames.append(
            .init(index: 3, address: HexAddress(0x7f11), kind: .returnAddress, isUserCode: false)
        )
        first.fault?.address = HexAddress(0x7f00)
        first.reason = "no route for client 79 at 0x7f22"
        first.loop = .init(
            mode: "default",
            activity: "port",
            callout: .init(kind: .port, label: "client 79", item: 3),
            nesting: 1,
            pass: 5
        )
        first.process.arguments = ["agent", "--port", "4711"]
        first.context?.annotations = ["queue": "17 waiting"]
        first.context?.environment = ["INVOCATION_ID": "abc", "LANG": "C"]
        var second = first
        second.id = ReportID(time: first.timestamp.adding(seconds: 9))
        second.timestamp = first.timestamp.adding(seconds: 9)
        second.process.pid = 99
        second.process.restarts = 3
        second.process.arguments[2] = "4712"
        second.thread.frames[3].address = HexAddress(0x7f33)
        second.fault?.address = HexAddress(0x7e00)
        second.reason = "no route for client 80 at 0x7f55"
        second.loop?.callout = .init(kind: .port, label: "client 80", item: 9)
        second.context?.annotations = ["queue": "3 waiting"]
        second.context?.environment = ["INVOCATION_ID": "def", "LANG": "C"]
        try store.write(first)
        try store.write(second)
        let output = try run("diff", first.id.rawValue, second.id.rawValue).output
        #expect(output.contains("Nothing else differs but what does from run to run.\n"), "\(output)")
        #expect(output.contains("Calls: all 4 are alike"))
        let json = try run("diff", first.id.rawValue, second.id.rawValue, "--json").output
        for name in ["restarts", "address", "callout", "command", "annotation queue", "environment INVOCATION_ID"] {
            #expect(json.contains("\"name\" : \"\(name)\""), "\(name)")
        }
        // What may be a cause is shown: another build, another word, another label.
        second.process.buildID = "cccc2222"
        second.reason = "no answer for client 80 at 0x7f55"
        second.loop?.callout?.label = "server 80"
        try store.write(second)
        let causes = try run("diff", first.id.rawValue, second.id.rawValue).output
        for line in ["  - bbbb1111\n  + cccc2222\n", "  + no answer for client 80", "  + port \"server 80\""] {
            #expect(causes.contains(line), "\(line)")
        }
        #expect(!causes.contains("restarts\n  -"))
    }

    // MARK: Width

    @Test(arguments: [60, 80]) func `Statistics fit the terminal`(width: Int) throws {
        try SampleStore.fillWithStalls(store)
        let session = try TerminalSession(
            ["stats", "--store", store.path.string],
            width: width,
            environment: ["NO_COLOR": "1"]
        )
        #expect(session.output.contains("47 faults and 5 stalls in 10 reports of 5 groups\n2026-11-15 04:00:00 to"))
        for line in session.output.split(separator: "\n") { #expect(DisplayWidth.of(line) <= width, "\(line)") }
    }

    // MARK: Stores of others

    @Test(.enabled(if: geteuid() == 0, "needs root, who can become another user"))
    func `Who may read the spool of another user is told whose it is, and how its records are finished`() throws {
        let parent = store.path.removingLastComponent()
        for path in [parent, store.path, store.spoolPath] {
            try FileManager.default.createDirectory(atPath: path.string, withIntermediateDirectories: true)
            #expect(chmod(path.string, 0o755) == 0)
        }
        let crashreport = try BuiltProduct.path(of: "crashreport")
        let reader = ["--reuid", "65534", "--clear-groups", crashreport, "list", "--store", store.path.string]
        let errors = try ProgramRun.run("/usr/bin/setpriv", reader).errors
        #expect(errors.contains("\(store.spoolPath) belongs to another user (uid 0, not 65534; mode 755)"), "\(errors)")
        #expect(errors.contains("sudo -u '#0' crashreport list --store \(store.path)\n"))
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, who can give files away"))
    func `Root reads the store of another user, and leaves nothing in it`() throws {
        let files = { try FileManager.default.subpathsOfDirectory(atPath: self.store.path.string).sorted() }
        try FileManager.default.removeItem(atPath: store.reportsPath.appending(".index").string)
        for name in try files() + [""] { #expect(lchown("\(store.path)/\(name)", 12345, 12345) == 0) }
        let before = try files()
        for arguments in [
            ["list", "--group"], ["list"], ["show", "last"], ["stats"], ["path", "last"], ["report", "--html", "-"],
        ] {
            let result = try ProgramRun.crashreport(arguments + ["--store", store.path.string])
            #expect(result.exitCode == 0 && result.errors == "", "\(arguments): \(result.errors)")
        }
        // What root wrote there, its owner would refuse.
        #expect(try run("prune", "--keep", "1").exitCode == 65)
        #expect(try files() == before)
        // A file of a third user in it is read by nobody.
        let last = try #require(store.summaries().summaries.first)
        #expect(lchown(last.path, 12346, 12346) == 0)
        #expect(try run("show", "last").errors.contains("belongs to another user (uid 12346"))
    }

    @Test func `The store of a dynamic user is named as root has to name it`() throws {
        let link = temporary.directory.appending("agent")
        // As systemd makes it in /var/lib.
        #expect(symlink("/var/lib/private/agent", link.string) == 0)
        let result = try ProgramRun.crashreport(["list", "--store", link.string])
        #expect(result.exitCode == 65)
        #expect(
            result.errors.contains(
                "belongs to a unit with DynamicUser=: as root, read --store /var/lib/private/agent\n"
            )
        )
    }

    // MARK: Stalls

    @Test func `A stall that may last is not said to have ended, nor never to`() throws {
        var report = SampleStall.report(end: .never)
        report.id = try SampleReport.id("01b0")
        try store.write(report)
        for arguments in [["list"], ["show", "last"], ["show", "last", "--full"]] {
            let output = try ProgramRun.crashreport(arguments + ["--store", store.path.string]).output
            #expect(output.contains("for at least 1.5 s, running, no end seen") && !output.contains("never ended"))
        }
    }
}
