import Foundation
import Glibc
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// `crashreport symbolicate`, where a report becomes another.
@Suite(.timeLimit(.minutes(10))) struct SymbolicateTests {
    private let folder: TemporaryFolder
    private let store: ReportStore
    private let program: String

    init() throws {
        folder = try TemporaryFolder()
        store = ReportStore(path: FilePath(folder.path).appending("store"))
        program = try BuiltProduct.path(of: "crashreport")
    }

    /// A report of a call of the program's `main` that has no name.
    private func nameless() throws -> CrashReport {
        let script = """
            readelf -n "$0" | sed -n 's/.*Build ID: //p' | head -n 1
            readelf -sW "$0" | awk '$8 == "main" { print $2; exit }'
            """
        let output = try ProgramRun.run("/bin/bash", ["-c", script, program]).output
        let facts = output.split(separator: "\n").map(String.init)
        try #require(facts.count == 2)
        let base: UInt64 = 0x5555_0000_0000
        let address = HexAddress(base + (try #require(UInt64(facts[1], radix: 16))))
        var report = try Fixture.report("v1-everything.json")
        report.images[0].base = HexAddress(base)
        report.images[0].end = HexAddress(base + 0x1000_0000)
        report.images[0].buildID = facts[0]
        report.images[0].path = program
        report.otherThreads = []
        report.thread.frames = [.init(index: 0, address: address, kind: .programCounter, image: 0, isUserCode: true)]
        report.explain()
        return report
    }

    @Test func `A report in a file is replaced there, with its mode, behind a link as well`() throws {
        let (file, link) = ("\(folder.path)/report.json", "\(folder.path)/link.json")
        try Data(JSONText.encode(try nameless())).write(to: URL(fileURLWithPath: file))
        #expect(chmod(file, 0o644) == 0)
        #expect(symlink("report.json", link) == 0)
        let run = try ProgramRun.run(program, ["symbolicate", link])
        #expect(run.end == .exited(0), "\(run.errors)")
        let report = try CrashReport(json: Array(Data(contentsOf: URL(fileURLWithPath: file))))
        #expect(report.thread.frames[0].function?.hasSuffix("main") == true)
        var status = stat()
        #expect(lstat(link, &status) == 0)
        #expect(status.st_mode & S_IFMT == S_IFLNK)
        #expect(lstat(file, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o644)
    }

    @Test func `The calls of a profile are named, and those of one function put together`() throws {
        var report = try nameless()
        let address = report.thread.frames[0].address.rawValue
        func call(_ depth: Int, _ seconds: Double, _ offset: UInt64) -> CrashReport.Stall.Call {
            .init(depth: depth, seconds: seconds, samples: 1, address: HexAddress(address + offset), isUserCode: true)
        }
        report.subject = try Fixture.report("v1-stall.json").subject
        var known = call(1, 0.25, 9)
        known.function = "known()"
        report.stall?.profile = .init(
            samples: 3,
            seconds: 1.75,
            calls: [call(0, 1, 8), known, call(0, 0.75, 4), call(5, 0.5, .max / 2 - address)],
            callsOmitted: 2
        )
        report.reason = "stalled for 1.87 s, running"
        try store.write(report)
        let run = try ProgramRun.run(program, ["symbolicate", "last", "--store", store.path.string])
        #expect(run.end == .exited(0), "\(run.errors)")
        // One on the stack, two in the profile.
        #expect(run.output.contains("3 addresses named anew"), "\(run.output)")
        let named = try store.load(report.id)
        let calls = try #require(named.stall?.profile?.calls)
        // An optimised build has inlined others into it.
        let roots = calls.filter { $0.depth == 0 }
        #expect(roots.map(\.seconds) == [1.75], "\(calls.map(\.location))")
        #expect(roots[0].function?.hasSuffix("main") == true)
        #expect(calls.contains { $0.function == "known()" && $0.seconds == 0.25 && $0.depth > 0 })
        #expect(calls.contains { $0.function == nil && $0.seconds == 0.5 && $0.depth > 0 })
        #expect(named.stall?.profile?.samples == 3 && named.stall?.profile?.callsOmitted == 2)
        #expect(named.reason == report.reason)
        // Nothing more is known the second time.
        let again = try ProgramRun.run(program, ["symbolicate", "last", "--store", store.path.string])
        #expect(again.output.contains("nothing more is known than before"))
    }

    @Test func `Reports that are removed while others are named are left out`() throws {
        let report = try nameless()
        try store.write(report)
        for _ in 0..<3 {
            var other = report
            other.id = ReportID(time: .now)
            try store.write(other)
        }
        // Whoever replaces a report waits for this lock; all were listed before.
        let lock = open(store.reportsPath.string, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(lock) }
        try #require(flock(lock, LOCK_EX) == 0)
        let child = try ChildProcess(program, ["symbolicate", "--all", "--store", store.path.string])
        try waitForLocker(child.pid)
        for file in try store.reportFiles() {
            try FileManager.default.removeItem(atPath: store.path(of: file.id).string)
        }
        #expect(flock(lock, LOCK_UN) == 0)
        #expect(try child.wait(within: Deadline.patience) == .exited(0))
        #expect(child.errors == "")
    }

    /// Waits until a process waits for a lock (proc_locks(5)): its line there has an arrow.
    private func waitForLocker(_ pid: pid_t) throws {
        for _ in 0..<6000 {
            let locks = try String(contentsOfFile: "/proc/locks", encoding: .utf8)
            let lines = locks.split(separator: "\n")
            if lines.contains(where: { $0.contains("->") && $0.contains(" \(pid) ") }) { return }
            usleep(10_000)
        }
        Issue.record("nobody waits for the lock")
    }
}
