import CrashReports
import FaultInjection
import Glibc
import TestSupport
import Testing

/// Reports of callouts that do not return, of processes of their own.
@Suite(.timeLimit(.minutes(10))) struct StallReportTests {
    /// What a place writes of the loop.
    struct Place: Sendable, CustomTestStringConvertible {
        var name: String
        var kind: CrashReport.LoopState.Callout.Kind
        var mode = "default"
        var nesting = 1

        var testDescription: String { name }
    }

    private static let places = [
        Place(name: "main", kind: .block), Place(name: "timer", kind: .timer), Place(name: "loop", kind: .block),
        Place(name: "nested", kind: .block, mode: "private", nesting: 2),
    ]

    /// The reports of what the scenario does: a machine that keeps the process waiting may make more stalls.
    private static func stuck(_ run: HostRun) throws -> [CrashReport] {
        try run.store.reports().filter { $0.loop?.callout?.label == "stuck" }
    }

    private static func onlyStuck(_ run: HostRun) throws -> CrashReport {
        let reports = try stuck(run)
        #expect(reports.count == 1, "\(reports.map(\.reason))")
        return try #require(reports.first)
    }

    private static func waitForStuck(_ run: HostRun) throws -> CrashReport {
        try FolderWatch.wait(at: run.store.path + "/reports", for: "a report of the stall") { try stuck(run).first }
    }

    /// Without what a stall just before has in its place.
    private static func notes(of report: CrashReport) -> [String] {
        report.notes.filter { !$0.hasSuffix("another stall had been found just before") }
    }

    @Test(arguments: InjectedStall.allCases, places)
    func `A stall has a report of where it was, what it did and how long`(kind: InjectedStall, place: Place) throws {
        let run = try HostRun("stalls", place.name, kind.rawValue, "600")
        let lines = try run.lines()
        #expect(try run.process.wait() == .exited(0), "\(run.process.errors.suffix(2000))")
        let what = place.name == "loop" ? "loop" : "main"
        #expect(lines.contains("lasting \(what) elsewhere"), "\(lines)")
        let report = try Self.onlyStuck(run)
        #expect(report.kind == .stall && report.fault == nil && report.verdict.decision == .wait)
        #expect(report.loop?.callout?.kind == place.kind && report.loop?.mode == place.mode)
        #expect(report.loop?.nesting == place.nesting)
        let stall = try #require(report.stall)
        #expect(stall.subject == .loop && stall.end == .wentOn && stall.threshold == 1)
        #expect(stall.length >= 1 && stall.length < 60)
        #expect(stall.processorSeconds != nil && stall.waitedForProcessorSeconds != nil)
        #expect(report.thread.isMain == (what == "main"))
        let function = "stall" + kind.rawValue.prefix(1).uppercased() + kind.rawValue.dropFirst()
        let functions = report.thread.frames.compactMap(\.function)
        #expect(functions.contains { $0.contains("tall") }, "\(functions)")
        try check(stall, kind, function)
        #expect(!report.otherThreads.isEmpty || Self.notes(of: report) != report.notes)
        #expect(report.otherThreads.allSatisfy { $0.id != report.thread.id })
        #expect(report.context?.breadcrumbs.isEmpty == false)
        #expect(Self.notes(of: report).isEmpty, "\(report.notes)")
    }

    private func check(_ stall: CrashReport.Stall, _ kind: InjectedStall, _ function: String) throws {
        let profile = try #require(stall.profile)
        let call = try #require(profile.heaviestPath.first { $0.function == "\(function)(_:)" }, "\(profile)")
        // Some may be of what the callout does before and after it.
        #expect(call.samples * 2 > profile.samples && !call.lines.isEmpty)
        #expect(call.file?.hasSuffix("InjectedStall.swift") == true)
        let main = try #require(stall.activities.first)
        switch kind {
        case .busy:
            #expect([.running, .ready].contains(main.activity))
            #expect(profile.culprit?.function == "\(function)(_:)")
        case .sleep: #expect(main.activity == .systemCall && main.systemCall == "clock_nanosleep")
        case .read: #expect(main.activity == .systemCall && main.systemCall == "read")
        case .lock: #expect(main.activity == .lock && main.systemCall == "futex")
        }
    }

    @Test(arguments: InjectedStall.allCases)
    func `A process that is killed in the middle leaves a report that says so`(kind: InjectedStall) throws {
        let run = try HostRun("stalls", "main", kind.rawValue, "1000000")
        #expect(try run.line() == "lasting main elsewhere")
        // The first of all, which was not brought up to date.
        _ = try Self.waitForStuck(run)
        run.process.kill(SIGKILL)
        #expect(try run.process.wait() == .signalled(SIGKILL))
        let report = try Self.onlyStuck(run)
        let stall = try #require(report.stall)
        #expect(stall.end == .never && stall.length >= 1 && stall.lengths.count == 0)
        #expect(report.reason.hasSuffix("no end seen") && stall.profile != nil)
        // The next one that starts goes by faults only.
        let next = try HostRun("stalls", "main", "sleep", "0")
        #expect(try next.process.wait() == .exited(0))
    }

    @Test func `A stall that lasts is brought up to date in its place`() throws {
        let run = try HostRun("stalls", "main", "sleep", "1000000")
        #expect(try run.line() == "lasting main elsewhere")
        let first = try Self.waitForStuck(run)
        let later = try FolderWatch.wait(at: run.store.path + "/reports", for: "a longer stall") {
            try Self.stuck(run).first { ($0.stall?.length ?? 0) > 2 * (first.stall?.length ?? 0) }
        }
        #expect(later.id == first.id && later.thread.frames.contains { $0.function == "stallSleep(_:)" })
        let profile = try #require(later.stall?.profile)
        #expect(profile.samples > 2)
        run.process.kill(SIGKILL)
        _ = try run.process.wait()
        #expect(try Self.stuck(run).count == 1)
    }

    @Test func `A thread that sleeps is looked at without being woken`() throws {
        let run = try HostRun("stalls", "counted", "sleep", "0")
        let lines = try run.lines()
        #expect(try run.process.wait() == .exited(0))
        let line = try #require(lines.first { $0.hasPrefix("interrupted ") })
        let interruptions = try #require(Int(line.dropFirst("interrupted ".count)))
        let samples = try #require(try Self.onlyStuck(run).stall?.profile?.samples)
        // Once by the first look, and again where it was late to fall asleep.
        #expect(interruptions >= 1 && samples > 4 * interruptions, "\(interruptions) of \(samples)")
    }

    @Test func `The thread is shown in the callout that is named, not in what follows in the pass`() throws {
        let run = try HostRun("stalls", "outlasted", "sleep", "600")
        _ = try run.lines()
        #expect(try run.process.wait() == .exited(0), "\(run.process.errors.suffix(2000))")
        let report = try Self.onlyStuck(run)
        let functions = report.thread.frames.compactMap(\.function)
        #expect(functions.contains("stallSleep(_:)") && !functions.contains("stallBusy(_:)"), "\(functions)")
        let profile = try #require(report.stall?.profile)
        #expect(profile.calls.contains { $0.function == "stallBusy(_:)" })
    }

    @Test func `Stalls of one cause are one report with their lengths`() throws {
        let run = try HostRun("stalls", "repeated", "sleep", "300")
        _ = try run.lines()
        #expect(try run.process.wait() == .exited(0))
        let report = try Self.onlyStuck(run)
        #expect(report.occurrences.count == 3 && report.stall?.lengths.count == 3)
        #expect(report.occurrences.last > report.occurrences.first && report.stall?.end == .wentOn)
    }

    @Test func `Two loops stall at once, and each has its report`() throws {
        let run = try HostRun("stalls", "two", "read", "800")
        _ = try run.lines()
        #expect(try run.process.wait() == .exited(0))
        let reports = try Self.stuck(run)
        // The same cause: counted in one report.
        #expect(reports.reduce(0) { $0 + $1.occurrences.count } == 2, "\(reports.map(\.reason))")
    }

    @Test func `A callout that stalls and then faults has a report of both, and the loop goes on`() throws {
        let run = try HostRun("stalls", "faulting", "busy", "400")
        let lines = try run.lines()
        #expect(try run.process.wait() == .exited(0))
        #expect(lines.contains { $0.hasPrefix("resumed 1 ") }, "\(lines)")
        let reports = try run.store.reports()
        #expect(reports.count { $0.kind == .fault } == 1)
        let stall = try #require(reports.first { $0.kind == .stall && $0.loop?.callout?.label == "stuck" })
        #expect(stall.stall?.end == .abandoned && stall.stall?.lengths.count == 1)
        #expect(stall.stall?.facts().contains { $0.text.contains("abandoned at") } == true)
        #expect(try run.store.violations().texts == [])
    }

    @Test func `Faults of another thread do not keep a stall from being told, nor it them`() throws {
        let run = try HostRun("stalls", "faults-meanwhile", "busy", "600")
        let lines = try run.lines()
        #expect(try run.process.wait() == .exited(0))
        #expect(lines.contains { $0.hasPrefix("resumed 20 ") }, "\(lines)")
        let reports = try run.store.reports()
        #expect(reports.filter { $0.kind == .fault }.reduce(0) { $0 + $1.occurrences.count } == 20)
        #expect(reports.contains { $0.loop?.callout?.label == "stuck" && $0.stall?.end == .wentOn })
    }

    @Test func `An item that may take its time has no report, and one that took too much has`() throws {
        let ignored = try HostRun("stalls", "ignored", "sleep", "3000")
        _ = try ignored.lines()
        #expect(try ignored.process.wait() == .exited(0))
        #expect(try Self.stuck(ignored).isEmpty)
        let patient = try HostRun("stalls", "patient", "sleep", "900")
        _ = try patient.lines()
        #expect(try patient.process.wait() == .exited(0))
        let stall = try #require(try Self.onlyStuck(patient).stall)
        #expect(stall.length >= 2 && stall.threshold == 2)
    }

    @Test func `An item that took more than its time is told with all of that, though it is killed then`() throws {
        let run = try HostRun("stalls", "patient", "sleep", "1000000")
        #expect(try run.line() == "lasting main elsewhere")
        _ = try Self.waitForStuck(run)
        run.process.kill(SIGKILL)
        _ = try run.process.wait()
        #expect(try #require(try Self.onlyStuck(run).stall).length >= 2)
    }

    @Test func `A callout behind one that may take any time has its own time`() throws {
        let run = try HostRun("stalls", "followed", "sleep", "600")
        _ = try run.lines()
        #expect(try run.process.wait() == .exited(0))
        _ = try Self.onlyStuck(run)
    }

    @Test func `The end of a stall that is watched no more is told by its report`() throws {
        let run = try HostRun("stalls", "unwatched", "sleep", "300")
        _ = try run.lines()
        #expect(try run.process.wait() == .exited(0))
        #expect(try Self.onlyStuck(run).stall?.end == .wentOn)
    }

    @Test func `The time of a stop is none of the stall's`() throws {
        let run = try HostRun("stalls", "main", "sleep", "1000000")
        defer { run.process.kill(SIGKILL) }
        #expect(try run.line() == "lasting main elsewhere")
        _ = try Self.waitForStuck(run)
        // From before the stall to after what is read below, without the stop, and not much longer than that is.
        let begin = ContinuousClock.now
        run.process.kill(SIGSTOP)
        let stopped = ContinuousClock.now
        usleep(8_000_000)
        let stop = stopped.duration(to: .now)
        run.process.kill(SIGCONT)
        let before = try #require(try Self.stuck(run).first?.stall)
        let later = try FolderWatch.wait(at: run.store.path + "/reports", for: "a later state") {
            try Self.stuck(run).first { ($0.stall?.length ?? 0) > before.length }?.stall
        }
        let ran = (begin.duration(to: .now) - stop) / .seconds(1)
        #expect(later.length < before.length + ran + 3 && later.length < stop / .seconds(1) + ran)
        #expect(try #require(later.profile).seconds <= later.length)
    }

    @Test func `A log that blocks keeps no report from being written`() throws {
        // The standard error of the probe is a pipe that is full, and that nobody reads.
        let script = """
            folder=$(mktemp -d); mkfifo "$folder/pipe"; exec 8<> "$folder/pipe"; rm -r "$folder"
            dd if=/dev/zero of=/dev/fd/8 bs=4096 count=16 2> /dev/null
            exec "$@" 2>&8
            """
        let run = try HostRun("stalls", "main", "sleep", "1000000", shell: script)
        defer { run.process.kill(SIGKILL) }
        #expect(try run.line() == "lasting main elsewhere")
        let first = try #require(try Self.waitForStuck(run).stall)
        _ = try FolderWatch.wait(at: run.store.path + "/reports", for: "a later state") {
            try Self.stuck(run).first { ($0.stall?.length ?? 0) > first.length }
        }
    }

    @Test func `What does not answer its pings has a report with the other threads`() throws {
        let run = try HostRun("stalls", "ping", "sleep", "600")
        let lines = try run.lines()
        #expect(try run.process.wait() == .exited(0))
        #expect(lines.contains("lasting late queue elsewhere"), "\(lines)")
        let report = try #require(try run.store.reports().first { $0.stall?.subject == .ping })
        #expect(report.stall?.label == "late queue" && report.stall?.profile == nil)
        #expect(report.thread.frames.isEmpty && Self.notes(of: report).count == 1, "\(report.notes)")
        #expect(report.reason.hasPrefix("no answer from late queue"))
        // Not where threads had no time to answer.
        #expect(
            report.otherThreads.isEmpty || report.otherThreads.contains { $0.frames.isEmpty }
                || report.otherThreads.contains { $0.frames.contains { $0.function == "stallSleep(_:)" } }
        )
    }

    @Test func `Every report of a stall is as the schema has it`() throws {
        let run = try HostRun("stalls", "main", "busy", "300")
        _ = try run.lines()
        #expect(try run.process.wait() == .exited(0))
        let (texts, count) = try run.store.violations()
        #expect(texts.isEmpty && count >= 1, "\(texts)")
    }
}
