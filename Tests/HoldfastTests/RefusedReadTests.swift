import CrashReports
import TestSupport
import Testing

/// In a container a filter may refuse what memory is read by: what cannot be read is not cleared.
@Suite(.timeLimit(.minutes(10))) struct RefusedReadTests {
    private static let ways = ["calls", "calls files"]

    private func run(_ scenario: String, refusing refused: String) throws -> ProbeRun {
        try ProbeRun(scenario, environment: ["PROBE_REFUSES": refused])
    }

    @Test(arguments: ["held-swift-mutex", "held-global-swift-mutex", "held-mutex"], ways)
    func `A lock that is held is seen without reading memory`(scenario: String, refused: String) throws {
        let run = try run(scenario, refusing: refused)
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 1"])
    }

    @Test func `A fault is resumed as ever where a file gives the memory`() throws {
        let run = try run("own-code", refusing: "calls")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["going on", "resumed 1"])
        let report = try #require(run.reports.first)
        #expect(report.verdict.decision == .resume)
        #expect(report.loop?.callout?.label == "probe")
    }

    @Test func `The policy of an item holds, read from the file`() throws {
        let run = try run("item-policy", refusing: "calls")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["resumed", "restarted 1"])
        #expect(run.reports.last?.verdict.reason.contains("policy does not resume") == true)
    }

    /// Its item may have a policy that allows nothing.
    @Test(arguments: ["own-code", "item-policy"])
    func `A callout of which nothing can be read is not resumed`(scenario: String) throws {
        let run = try run(scenario, refusing: "calls files")
        #expect(run.end == .exited(0))
        #expect(run.lines == ["restarted 1"])
        let report = try #require(run.reports.first)
        #expect(report.verdict.reason.contains("could not be read"), "\(report.verdict.reason)")
    }
}
