import Foundation
import ReportTestSupport
import SystemPackage
import Testing

@testable import CrashReports
@testable import ReportExports

/// Stalls on the page, without a browser.
@Suite(.timeLimit(.minutes(10))) struct HTMLStallTests {
    private func call(_ depth: Int, _ seconds: Double, _ function: String = "f") -> CrashReport.Stall.Call {
        .init(depth: depth, seconds: seconds, samples: 1, address: HexAddress(0), function: function, isUserCode: true)
    }

    private func graph(_ calls: [CrashReport.Stall.Call]) -> HTMLFlameGraph {
        HTMLFlameGraph(.init(samples: 1, seconds: 1, calls: calls))
    }

    @Test func `A block is as wide as its call took long, below the call that made it`() {
        let graph = graph([call(0, 2), call(1, 1), call(2, 0.5), call(1, 0.5), call(0, 2)])
        #expect(graph.blocks.map(\.x) == [0, 0, 0, 250, 500])
        #expect(graph.blocks.map(\.width) == [500, 250, 125, 125, 500])
        #expect(graph.depth == 3)
        #expect(graph.hidden == 0)
        #expect(graph.title(of: graph.blocks[2]) == "f: 500 ms, 12.5 %")
    }

    @Test func `Samples without a call leave room`() {
        let graph = HTMLFlameGraph(.init(samples: 4, seconds: 4, calls: [call(0, 1)]))
        #expect(graph.blocks.map(\.width) == [250])
    }

    @Test func `What took longer than its caller ends with it, and what is below nothing is not drawn`() {
        let graph = graph([call(0, 1), call(1, 5), call(1, 1), call(2, 1), call(9, .infinity), call(1, -1), call(0, 0)])
        #expect(graph.blocks.map(\.width) == [1000, 1000])
        #expect(graph.hidden == 5)
        #expect(self.graph([call(0, .infinity)]).blocks.isEmpty)
        #expect(self.graph([call(0, -1), call(1, 1)]).blocks.isEmpty)
    }

    @Test func `A hundred thousand calls are a few hundred blocks`() {
        #expect(graph((0..<100_000).map { call($0, 1) }).depth == 64)
        let wide = graph([call(0, 100_000)] + (0..<100_000).map { _ in call(1, 1) })
        #expect(wide.blocks.count == 1 && wide.hidden == 100_000)
        #expect(graph((0..<1500).map { _ in call(0, 1) }).blocks.count == 600)
    }

    @Test func `A page of a stall says what stalled and where the time went`() throws {
        let page = Pages.html([try Fixture.report("v1-stall.json")])
        for part in [
            "<title>RetryQueue.sweep() (RetryQueue.swift:58): 1.84 s, 100 %</title>",
            "aria-label=\"Flame graph of 1.84 s",
            "The stall", "stall 2 of its process", "1.87 s (a stall from 250 ms on)", "How long 3 stalls took",
            "How late ticks came", "the first sample", "13 %  240 ms  │ └ Header.name.getter", "stalled",
        ] {
            #expect(page.contains(part), "\(part)")
        }
        for part in ["Signal", "faulted", ">none", "1 fault", "SIG"] { #expect(!page.contains(part), "\(part)") }
    }

    @Test func `Stalls and faults are counted apart`() throws {
        let stalls = [try Fixture.report("v1-stall.json"), try Fixture.report("v1-ping.json")]
        let page = Pages.html(RichStore.reports() + stalls)
        #expect(page.contains("<div class=\"figure wait\"><b>4</b><span>stalled</span></div>"))
        #expect(page.contains("<b>3</b><span> stalls</span>"))
        #expect(page.contains("<b>1</b><span> stall</span>"))
        #expect(page.contains("Thread 4242"))
        #expect(!page.contains("Thread 0"))
    }

    @Test func `Ends that somebody wanted are counted apart, and come last`() throws {
        var end = try Fixture.report("v1-exit.json")
        end.death?.cause = .stopped
        end.reason = try #require(end.death?.reason)
        let faults = RichStore.reports()
        let page = Pages.html(faults + [end])
        #expect(page.contains("<div class=\"figure plain\"><b>1</b><span>ended on purpose</span></div>"))
        let total = faults.reduce(0) { $0 + $1.occurrences.count }
        #expect(page.contains("<b>\(total)</b><span>faults</span>"))
        let summaries = (faults + [end]).map { ReportSummary($0, in: ReportStore(path: "/")) }
        let groups = HTMLReportPage.Group.groups(of: summaries.map { HTMLReportPage.Entry(summary: $0) })
        #expect(groups.last?.entries.map(\.id) == [end.id])
    }

    @Test func `A hostile stall leaves no markup and no control in a page`() throws {
        let page = Pages.html([try HostileReports.stall()])
        #expect(page.contains("Flame graph"))
        #expect(page.matches(of: /<script/).count == 1)
        #expect(!page.contains("<img"))
        for scalar in page.unicodeScalars where scalar != "\n" {
            #expect(![.control, .format, .lineSeparator].contains(scalar.properties.generalCategory))
        }
        #expect(page.utf8.count < 900_000)
    }
}
