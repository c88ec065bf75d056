import CrashReports
import TestSupport
import Testing

/// Spool files that somebody cuts while their process lives.
@Suite(.timeLimit(.minutes(10))) struct CutSpoolTests {
    /// To nothing, within the header, within the records, and within what belongs to few of them.
    private static let sizes = ["0", "1000", "200000", "1500000"]

    @Test(arguments: sizes)
    func `An agent whose spool is cut goes on`(size: String) throws {
        let run = try HostRun("cut-spool", size, "goes-on")
        #expect(try run.lines() == ["resumed 0 flushed true"])
        #expect(try run.process.wait() == .exited(0), "\(run.process.errors)")
    }

    @Test(arguments: sizes, ["at-once", "next"])
    func `A fault after the spool was cut is resumed, with a report, and the log says what happened`(
        size: String,
        kind: String
    ) throws {
        let run = try HostRun("cut-spool", size, kind)
        #expect(try run.lines() == ["resumed 1 flushed true"])
        #expect(try run.process.wait() == .exited(0), "\(run.process.errors)")
        #expect(run.process.errors.contains("somebody has cut the spool file; it was made whole again"))
        let report = try run.store.onlyReport()
        #expect(report.fault?.number == 1)
        #expect(report.verdict.decision == .resume)
        #expect(report.process.name == "recovery-probe")
        #expect(report.thread.frames.contains { $0.function?.contains("CutSpoolScenarios") == true })
    }

    @Test(arguments: sizes)
    func `The next process makes the report of a fault that restarted one whose spool was cut`(size: String) throws {
        let run = try HostRun("cut-spool", size, "restart")
        #expect(try run.lines() == ["restarted 1"])
        #expect(try run.process.wait() == .exited(0), "\(run.process.errors)")
        #expect(try run.store.onlyReport().verdict.decision == .restart)
    }

    @Test(arguments: sizes)
    func `Where the program has closed the spool's descriptor, records go on in memory`(size: String) throws {
        let run = try HostRun("cut-spool", size, "closed")
        #expect(try run.lines() == ["resumed 1 flushed true"])
        #expect(try run.process.wait() == .exited(0), "\(run.process.errors)")
        #expect(run.process.errors.contains("records are in memory"))
        #expect(try run.store.onlyReport().verdict.decision == .resume)
    }
}
