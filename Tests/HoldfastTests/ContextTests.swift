import CrashReports
import Glibc
import TestSupport
import Testing

/// What the process was doing, had and was allowed when it faulted, as reports of real faults tell it.
@Suite(.timeLimit(.minutes(10))) struct ContextTests {
    /// The reports of a scenario, by the number of the fault.
    private func reports(_ scenario: String, end: ChildProcess.End = .exited(0)) throws -> [CrashReport] {
        let run = try HostRun("context", scenario)
        #expect(try run.process.wait() == end, "\(run.process.errors.suffix(1000))")
        // What the process left in the spool is finished by this.
        _ = try run.store.list()
        return try run.store.reports().sorted { ($0.fault?.number ?? 0) < ($1.fault?.number ?? 0) }
    }

    private func callouts(_ context: CrashReport.Context) -> [String] {
        context.breadcrumbs.filter { [.block, .timer, .port].contains($0.kind) }.map(\.text)
    }

    @Test func `A report tells what the loop did before, in its order and with its labels`() throws {
        let context = try #require(reports("trail").first?.context)
        #expect(
            callouts(context) == [
                "first", "nested", "tick", "a label of more characters than an event…", "the fault",
            ]
        )
        #expect(context.breadcrumbsLost == 0)
        let kinds = context.breadcrumbs.map(\.kind)
        #expect(kinds.first == .entry)
        #expect(context.breadcrumbs.first?.text == "default")
        let nested = try #require(context.breadcrumbs.firstIndex { $0.text == "quiet" })
        let slept = try #require(kinds.firstIndex(of: .sleep))
        let fired = try #require(kinds.firstIndex(of: .timer))
        #expect(nested < slept && slept < fired)
        #expect(kinds.filter { $0 == .exit }.count == 1)
        #expect(context.breadcrumbs.last?.text == "the fault")
    }

    @Test func `Breadcrumbs have times up to that of the fault, and the thread they are of`() throws {
        let report = try #require(reports("trail").first)
        let context = try #require(report.context)
        let times = context.breadcrumbs.map(\.time)
        #expect(times == times.sorted())
        #expect(times.allSatisfy { $0 <= report.timestamp && $0 >= report.process.startTime })
        // It slept three milliseconds in between.
        let slept = report.timestamp.microsecondsSinceEpoch - times[0].microsecondsSinceEpoch
        #expect(slept >= 3000)
        #expect(context.breadcrumbs.allSatisfy { $0.thread == report.process.pid })
    }

    @Test func `Notes of the log, annotations and tags are those of the time of the fault`() throws {
        let reports = try reports("trail")
        let first = try #require(reports.first?.context)
        let note = try #require(first.breadcrumbs.first { $0.kind == .note })
        #expect(note.text == "mail: the disk is nearly full free=3 % password=<redacted>")
        #expect(note.level == "warning")
        #expect(first.annotations == ["queue": "17 waiting"])
        #expect(first.tags == ["region": "eu-1"])
        let second = try #require(reports.last?.context)
        #expect(reports.count == 2)
        #expect(second.annotations == ["queue": "none waiting"])
        #expect(second.tags == [:])
        #expect(second.breadcrumbs.filter { $0.kind == .note }.map(\.text).last == "mail: later")
    }

    @Test func `What was resumed and what was delivered before is told, too`() throws {
        let reports = try reports("trail")
        let first = try #require(reports.first?.context)
        #expect(!first.breadcrumbs.contains { $0.kind == .fault || $0.kind == .signal })
        let second = try #require(reports.last?.context)
        #expect(second.breadcrumbs.filter { $0.kind == .fault }.map(\.text) == ["SIGILL, fault 1, in \"the fault\""])
        let pid = try #require(reports.last?.process.pid)
        #expect(second.breadcrumbs.filter { $0.kind == .signal }.map(\.text) == ["SIGUSR1 from pid \(pid)"])
    }

    @Test func `The state of the process is told`() throws {
        let context = try #require(reports("trail").first?.context)
        let memory = try #require(context.memory)
        #expect(memory.resident > 1 << 20 && memory.resident <= memory.virtual)
        #expect(try #require(memory.peakResident) >= memory.resident / 2)
        #expect(try #require(memory.systemAvailable) <= #require(memory.systemTotal))
        #expect(context.load?.count == 3)
        // Standard input, output and error, and what the host has open.
        #expect(try #require(context.descriptors).open > 5)
        #expect(context.descriptors?.limit == context.limits["Max open files"]?.soft)
        // The main one, the crash thread, the writer of reports.
        #expect(try #require(context.threadCount) >= 3)
        #expect(context.limits.count == 16)
        #expect(context.limits["Max core file size"]?.soft == 0, "as these tests start their children")
    }

    @Test(arguments: [("killed", SIGKILL, "about to be killed"), ("terminated", SIGSEGV, "about to end")])
    func `The context outlives the process`(scenario: String, signal: CInt, state: String) throws {
        let context = try #require(reports(scenario, end: .signalled(signal)).first?.context)
        #expect(callouts(context) == ["before", "the fault"])
        #expect(context.breadcrumbs.contains { $0.kind == .note && $0.text == "mail: before the fault" })
        #expect(context.annotations == ["state": state])
        #expect(context.memory != nil || scenario == "killed", "read before the process is ended")
    }

    @Test func `Of many events and notes the last are kept, and the others counted`() throws {
        let context = try #require(reports("flood").first?.context)
        let notes = context.breadcrumbs.filter { $0.kind == .note }.map(\.text)
        // The note of the fault itself, which comes after it, may have taken the place of the oldest one.
        #expect(notes == (37...100).map { "mail: line \($0)" } || notes == (38...100).map { "mail: line \($0)" })
        #expect((127...128).contains(context.breadcrumbs.count))
        #expect(context.breadcrumbs.last?.text == "the fault")
        // Entry, the first, 500, the noisy one, 200, the fault; and 100 notes.
        #expect(context.breadcrumbsLost >= 704 + 100 - 128)
        #expect(!context.breadcrumbs.contains { $0.text == "the first of all" })
    }

    @Test func `Values that are being changed are whole in each report, or not there`() throws {
        let reports = try reports("values")
        #expect(reports.count == 20)
        var seen = 0
        for context in reports.compactMap(\.context) {
            for (key, value) in context.annotations {
                #expect(key.hasPrefix("thread ") && value.count == 200 && Set(value).count == 1)
                seen += 1
            }
            for value in context.tags.values { #expect(value.count == 20 && Set(value).count == 1) }
        }
        #expect(seen > 20, "values were there at all")
    }

    @Test func `Without descriptors the rest is told`() throws {
        let context = try #require(reports("no-descriptors", end: .signalled(SIGSEGV)).first?.context)
        #expect(context.annotations == ["state": "exhausted"])
        #expect(callouts(context).last == "the fault")
        #expect(context.memory == nil && context.load == nil && context.threadCount == nil)
        #expect(context.limits["Max open files"]?.soft == 0)
    }

    @Test func `A fault of a thread without a loop tells what the main loop did`() throws {
        let report = try #require(reports("other-thread", end: .signalled(SIGSEGV)).first)
        let context = try #require(report.context)
        #expect(!report.thread.isMain)
        #expect(callouts(context).first == "of the main loop")
        #expect(context.breadcrumbs.allSatisfy { $0.thread == report.process.pid })
    }
}
