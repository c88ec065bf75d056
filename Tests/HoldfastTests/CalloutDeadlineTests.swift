import CrashReports
import Glibc
import TestSupport
import Testing

/// Callouts that run for longer than their deadline: what becomes of them, and what of the rest.
@Suite(.serialized, .timeLimit(.minutes(10))) struct CalloutDeadlineTests {
    private static let abandoned = "abandoned item true, signal \(SIGSTKFLT)"
    private static let kept = "log: a callout runs for longer than its deadline and may not be abandoned, item "

    private func run(_ arguments: String...) throws -> (lines: [String], reports: [CrashReport]) {
        let store = try StoreReader()
        let run = try ProgramRun.run(
            BuiltProduct.path(of: "recovery-probe"),
            ["deadline", store.path] + arguments
        )
        #expect(run.end == .exited(0), "\(run.errors.suffix(2000))")
        // What the process left in the spool is finished by this.
        _ = try store.list()
        let reports = try store.reports().sorted { $0.timestamp < $1.timestamp }
        return (run.output.split(separator: "\n").map(String.init), reports)
    }

    // MARK: What is abandoned

    @Test(arguments: ["busy", "spin", "sleep", "read"])
    func `A callout that takes too long is abandoned, and the report says why`(scenario: String) throws {
        let (lines, reports) = try run(scenario)
        #expect(lines == ["after", Self.abandoned, "resumed 1"])
        let report = try #require(reports.first)
        #expect(reports.count == 1)
        #expect(report.fault?.signal.name == "SIGSTKFLT")
        #expect(report.fault?.deadlineSeconds == 1)
        #expect(report.reason == "the callout \"probe\" ran for more than its deadline of 1 s")
        #expect(report.verdict.decision == .resume)
        #expect(report.loop?.callout?.label == "probe")
        let diagnosis = try #require(report.diagnosis)
        #expect(diagnosis.summary.contains("ran for longer than its deadline of 1 s; it was interrupted in"))
        #expect(diagnosis.next.contains { $0.contains("longer deadline") })
        let functions = report.thread.frames.compactMap(\.function)
        let function =
            ["busy": "stallBusy", "sleep": "stallSleep", "read": "waitForByte", "spin": "spin"][scenario] ?? ""
        #expect(functions.contains { $0.contains(function) }, "\(functions)")
    }

    @Test func `A callout inside of another one's run is abandoned alone`() throws {
        let lines = try run("nested-stuck").lines
        #expect(lines.filter { $0.contains("nesting") } == ["nesting 2", "outer goes on, nesting 1"])
        #expect(lines.contains("after") && lines.last == "resumed 1")
    }

    @Test func `A loop of another thread is watched when the host is told so`() throws {
        let (lines, reports) = try run("thread")
        #expect(lines.contains("second goes on") && lines.last == "resumed 1")
        #expect(reports.map(\.loop?.callout?.label) == ["stuck"])
        #expect(reports.first?.thread.isMain == false)
    }

    @Test func `Cleanups run, and what was being changed is poisoned`() throws {
        let lines = try run("cleanup").lines
        #expect(lines == ["cleaned up", "poisoned true", "after", "resumed 1"])
    }

    @Test func `Every callout that is late spends the budget of faults`() throws {
        let (lines, reports) = try run("budget")
        #expect(lines.last == "restarted")
        #expect(reports.map(\.verdict.decision) == [.resume, .restart])
        #expect(reports.last?.verdict.reason == "the budget of faults is spent")
    }

    // MARK: What is not

    @Test func `A callout that waits for a lock is never abandoned, and the process restarts`() throws {
        let (lines, reports) = try run("lock")
        #expect(lines == ["restarted"])
        let report = try #require(reports.first)
        #expect(reports.count == 1 && report.verdict.decision == .restart)
        #expect(report.fault?.deadlineSeconds == 1)
        #expect(report.verdict.reason == "it was interrupted inside a library, whose locks may be held")
    }

    @Test func `A callout that holds a lock is never abandoned`() throws {
        let (lines, reports) = try run("held")
        #expect(lines == ["restarted"])
        #expect(reports.map(\.verdict.reason) == ["a lock that the callout took is still held"])
    }

    @Test func `An application below a library's frame is never abandoned`() throws {
        let (lines, reports) = try run("library")
        #expect(lines == ["restarted"])
        #expect(reports.first?.verdict.reason.hasPrefix("a library's frame lies between") == true)
    }

    @Test(arguments: ["never", "policy"])
    func `Where the policy forbids it, nothing is abandoned`(scenario: String) throws {
        let (lines, reports) = try run(scenario)
        #expect(lines == ["restarted"])
        #expect(reports.map(\.verdict.reason) == ["the policy does not abandon callouts that take too long"])
    }

    @Test(arguments: [("lock", ["after"]), ("held", ["let go", "after"])])
    func `A deadline that says to wait is told once, and nothing else is done`(
        scenario: String,
        end: [String]
    ) throws {
        let (lines, reports) = try run(scenario, "wait")
        #expect(lines == [Self.kept + "probe"] + end + ["resumed 0"])
        #expect(reports.isEmpty)
    }

    @Test func `A sleep that may not be abandoned is interrupted once`() throws {
        let lines = try run("interruptions", "wait").lines
        // Again where the answer took too long; there are up to fifty attempts.
        let interruptions = try #require(lines.dropFirst(2).first?.split(separator: " ").last.flatMap { Int($0) })
        #expect((1...3).contains(interruptions), "\(lines)")
        #expect(lines == [Self.kept + "probe", "let go", "interrupted \(interruptions)", "after", "resumed 0"])
    }

    @Test func `A callout in a critical section is abandoned when it has left that`() throws {
        let (lines, reports) = try run("critical")
        #expect(lines.first == "left" && lines.last == "resumed 1", "\(lines)")
        #expect(reports.map(\.verdict.decision) == [.resume])
    }

    // MARK: What is not late

    @Test(
        arguments: [
            ("short", ["after"]), ("no-deadline", ["after"]), ("exempt", ["untouched"]),
            ("nested-serving", ["served true", "after"]), ("nested-polling", ["polled", "after"]),
            ("nested-waiting", ["waited", "after"]),
        ]
    )
    func `Who is in time, has no deadline or serves on is left alone`(scenario: String, said: [String]) throws {
        let (lines, reports) = try run(scenario)
        #expect(lines == said + ["resumed 0"])
        #expect(reports.isEmpty)
    }

    @Test func `An item's own deadline is for its callouts alone`() throws {
        let (lines, reports) = try run("item")
        #expect(lines.contains("untouched") && lines.contains("true") && lines.last == "resumed 1", "\(lines)")
        #expect(reports.map(\.loop?.callout?.label) == ["slow timer"])
        #expect(reports.map(\.fault?.deadlineSeconds) == [0.1])
    }

    // MARK: What is left behind

    /// Interrupted at any instruction, also between taking a lock and noting it.
    @Test(arguments: ["allocating", "locking", "exclusion", "items"])
    func `No lock stays behind, whatever a callout does all the while`(scenario: String) throws {
        let (lines, reports) = try run(scenario)
        let expected = ["allocating": "1048576", "locking": "free", "exclusion": "free", "items": "fired"][scenario]
        #expect(lines.filter { $0 == expected }.count == 8, "\(lines)")
        #expect(lines.last == "resumed 8")
        #expect(reports.reduce(0) { $0 + $1.occurrences.count } == 8)
    }
}
