import Foundation
import Glibc
import LinuxSystem
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// Several processes use one store, and are killed while they do.
@Suite(.serialized, .timeLimit(.minutes(10))) struct StoreSharingTests {
    private let temporary: TemporaryStore
    private var store: ReportStore { temporary.store }

    init() throws {
        temporary = try TemporaryStore()
        try store.create()
    }

    /// What the files say, by identifier.
    private func files() throws -> [ReportID: CrashReport] {
        var reports: [ReportID: CrashReport] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: store.reportsPath.string)
        where name.hasSuffix(".json") {
            let data = try #require(FileManager.default.contents(atPath: store.reportsPath.appending(name).string))
            let report = try CrashReport(json: Array(data))
            reports[report.id] = report
        }
        return reports
    }

    @Test func `A lock ends with whoever took it, though a forked child has the directory open, too`() throws {
        func lock() throws -> CInt {
            let directory = try FileDirectory(at: store.reportsPath)
            try directory.lock()
            // As fork(2) does it: another number for the same open file.
            return dup(directory.descriptor.rawValue)
        }
        let inherited = try lock()
        defer { close(inherited) }
        let isFree = try FileDirectory(at: store.reportsPath).tryLock()
        #expect(isFree)
    }

    @Test func `Whoever is killed at any moment loses nothing that was there`() throws {
        var generator = SystemRandomNumberGenerator()
        let counter = SampleReport.minimal(reason: "counter", frames: [SampleReport.frame(0, "counter")])
        try store.write(counter)
        let groups = ["a", "b", "c"]
        let limit = 40
        var written: [String: [ReportID]] = [:]
        var counted = 1
        var problems: [String] = []
        var operations = 0
        var counters = 0

        for round in 0..<25 {
            var writers: [(group: String, probe: StoreProbe)] = []
            for group in groups {
                let limits = group == "a" ? "\(limit)" : "none"
                writers.append((group, try StoreProbe("write", store.path, group, "100000", limits)))
            }
            let counting = try StoreProbe("count", store.path, counter.id.rawValue)
            let others = [
                try StoreProbe("list", store.path), try StoreProbe("list", store.path),
                try StoreProbe("prune", store.path, "\(limit)"),
            ]
            // Until each has done something, and then any moment.
            try writers[round % 3].probe.wait(forLines: 3)
            usleep(UInt32.random(in: 0..<60_000, using: &generator))
            for probe in writers.map(\.probe).shuffled() + others { try probe.killAndWait() }
            try counting.killAndWait()

            for (group, probe) in writers {
                let lines = try probe.lines()
                written[group, default: []] += lines.after("wrote").compactMap { ReportID(rawValue: $0) }
                problems += lines.after("error")
                operations += lines.count
            }
            for probe in others {
                let lines = try probe.lines()
                problems += lines.after("error")
                operations += lines.count
            }
            let counts = try counting.lines().after("counted").compactMap { Int($0) }
            if !counts.isEmpty { counters += 1 }
            #expect(counts == counts.sorted())
            counted = max(counted, counts.last ?? counted)
            operations += counts.count
        }
        print("\(operations) operations of 175 processes that were killed, \(counters) of them counted")
        // Three lines of one process in each round are waited for.
        #expect(operations >= 75)
        #expect(problems == [])

        let reports = try files()
        // One count more may have been done than said, in each round.
        let count = try #require(reports[counter.id]).occurrences.count
        #expect((counted...(counted + 40)).contains(count))
        for group in groups {
            let all = try #require(written[group])
            let left = reports.values.filter { $0.reason == group }.map(\.id).sorted()
            // The first and the last stay; one that was written and not yet said may be before or after them.
            #expect(try #require(left.first) <= #require(all.min()))
            #expect(try #require(left.last) >= #require(all.max()))
        }
        #expect(try store.prune(.init(reports: limit)).keptReports <= limit)
        #expect(store.verify().findings.filter { $0.kind != .staleIndex } == [])
        #expect(try Set(store.summaries().summaries.map(\.id)) == Set(files().keys))
        for summary in try store.summaries().summaries {
            #expect(summary.occurrences == (try #require(try files()[summary.id])).occurrences)
        }
    }

    @Test func `Processes that crash alike one after the other make 32 reports, and count the rest`() throws {
        for _ in 0..<40 { _ = try StoreProbe("add", store.path, "loop").wait() }
        let group = try #require(try store.groups().groups.first)
        #expect(group.count == 40)
        #expect(group.reports == 32)
    }

    @Test func `A process without descriptors is told so, and harms nothing`() throws {
        let first = try StoreProbe("write", store.path, "few", "3").wait()
        #expect(first.count == 3)
        for left in 0...6 {
            let lines = try StoreProbe("with-files", store.path, "\(left)").wait()
            for error in lines.after("error") {
                #expect(error.contains("ulimit -n"), "\(error)")
            }
            if left == 0 { #expect(lines.after("error").count == 2) }
            #expect(store.verify().findings.filter { $0.kind != .staleIndex } == [])
        }
        #expect(try store.summaries().summaries.count > 3)
    }

    @Test func `A file that may not grow is not left half written`() throws {
        _ = try StoreProbe("write", store.path, "size", "2").wait()
        for size in [400, 1000] {
            let lines = try StoreProbe("with-size", store.path, "\(size)").wait()
            let error = try #require(lines.after("error").first)
            #expect(error.contains("ulimit -f"))
            #expect(try store.summaries().summaries.count == 2)
            #expect(store.verify().findings.filter { $0.kind != .staleIndex } == [])
        }
        // Enough for a report, and perhaps not for a line more in the index: that may go, the report stays.
        for limit in stride(from: 1200, to: 4000, by: 100) {
            _ = try StoreProbe("with-size", store.path, "\(limit)").wait()
            #expect(try Set(store.summaries().summaries.map(\.id)) == Set(files().keys))
        }
        #expect(store.verify().findings.filter { $0.kind != .staleIndex } == [])
    }

    private static let canMount: Bool = {
        let result = try? ProgramRun.run("/usr/bin/unshare", ["-m", "/bin/mount", "-t", "tmpfs", "none", "/mnt"])
        return result?.exitCode == 0
    }()

    @Test(.enabled(if: canMount, "needs the right to mount a file system in a namespace of its own"))
    func `A full disk loses nothing that was there, says so, and goes on when there is room`() throws {
        let probe = try BuiltProduct.path(of: "store-probe")
        let script = "mount -t tmpfs -o size=200k,mode=700 none \"$1\" && exec \"$2\" fill \"$1/store\""
        let result = try ProgramRun.run(
            "/usr/bin/unshare",
            ["-m", "/bin/sh", "-c", script, "sh", store.path.string, probe],
            within: ProgramRun.patience
        )
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(result.exitCode == 0)
        let error = try #require(lines.after("error").first)
        #expect(error.contains("make room on the disk"))
        let written = lines.after("wrote").count - 1
        #expect(written > 10)
        #expect(lines.after("listed") == ["\(written) 0"])
        #expect(lines.after("found").allSatisfy { $0 == "" || $0 == "stale-index" })
        #expect(lines.after("removed") == ["\(written - 2)"])
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, who can become another user"))
    func `A folder that may be read only is read, and whoever writes is told`() throws {
        // Root may write anywhere: a read-only mount is what stops it, too.
        try #require(Self.canMount)
        _ = try StoreProbe("write", store.path, "few", "3").wait()
        let probe = try BuiltProduct.path(of: "store-probe")
        let script =
            "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && exec \"$2\" with-files \"$1\" 100"
        let result = try ProgramRun.run(
            "/usr/bin/unshare",
            ["-m", "/bin/sh", "-c", script, "sh", store.path.string, probe],
            within: ProgramRun.patience
        )
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(lines.after("listed") == ["3"])
        #expect(try #require(lines.after("error").first).contains("read-only"))
        #expect(try store.summaries().summaries.count == 3)
    }
}
