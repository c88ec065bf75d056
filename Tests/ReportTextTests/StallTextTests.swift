import ReportTestSupport
import SystemPackage
import Testing

@testable import CrashReports
@testable import ReportText

@Suite struct StallTextTests {
    private func tree(_ calls: [CrashReport.Stall.Call], omitted: Int = 0, layout: TextLayout = .plain) -> [String] {
        let profile = CrashReport.Stall.Profile(
            samples: 100,
            seconds: calls.first?.seconds ?? 0,
            calls: calls,
            callsOmitted: omitted
        )
        return ProfileText(profile).text(layout).split(separator: "\n").map(String.init)
    }

    private func call(_ depth: Int, _ seconds: Double, _ function: String) -> CrashReport.Stall.Call {
        SampleStall.call(depth, seconds, function, isUserCode: false)
    }

    @Test func `While there is one path, nothing is indented`() {
        let lines = tree((0..<12).map { call($0, 1, "f\($0)") })
        #expect(lines.count == 12)
        #expect(lines[11] == "   100 %  1 s  f11 in libc.so.6")
    }

    @Test func `Where paths part, they are drawn`() {
        let calls = [
            call(0, 1, "main"), call(1, 0.6, "parse"), call(2, 0.3, "match"), call(3, 0.3, "step"),
            call(2, 0.3, "name"),
            call(1, 0.4, "write"), call(2, 0.4, "flush"),
        ]
        #expect(
            tree(calls) == [
                "   100 %     1 s  main in libc.so.6", "    60 %  600 ms  ├ parse in libc.so.6",
                "    30 %  300 ms  │ ├ match in libc.so.6", "    30 %  300 ms  │ │ step in libc.so.6",
                "    30 %  300 ms  │ └ name in libc.so.6", "    40 %  400 ms  └ write in libc.so.6",
                "    40 %  400 ms    flush in libc.so.6",
            ]
        )
        let ascii = tree(calls, layout: TextLayout(isUnicode: false))
        #expect(ascii[2] == "    30 %  300 ms  | + match in libc.so.6")
        #expect(ascii[4] == "    30 %  300 ms  | ` name in libc.so.6")
    }

    @Test func `The program's functions stand out, with their lines and what they took themselves`() {
        var own = SampleStall.call(0, 1, "sweep()", line: 58)
        own.lines = [.init(line: 58, seconds: 0.7), .init(line: 61, seconds: 0.26), .init(line: 57, seconds: 0.04)]
        let lines = tree([own, call(1, 0.75, "match")])
        #expect(
            lines[0]
                == "> 100 %     1 s  sweep() at Agent.swift:58 (line 61: 260 ms, 250 ms in itself) in agent".replacing(
                    "> 100",
                    with: ">  100"
                )
        )
    }

    @Test func `Branches of less than a hundredth are counted`() {
        let calls =
            [call(0, 10, "main"), call(1, 9.8, "parse")]
            + (0..<5).flatMap { [call(1, 0.04, "f\($0)"), call(2, 0.04, "g\($0)")] }
        let lines = tree(calls, omitted: 7)
        #expect(lines.count == 4)
        #expect(lines[1].contains("  parse in"), "a single path that is shown needs no branch: \(lines[1])")
        #expect(lines[2].hasSuffix("… 10 calls of less than 1 % each"))
        #expect(lines[3].hasSuffix("… 7 more calls"))
        #expect(tree([call(0, 10, "main"), call(1, 0.01, "f")])[1].hasSuffix("… 1 call of less than 1 %"))
    }

    @Test func `A tree that is too large for a screen is cut, and what is missing counted`() {
        let lines = tree((0..<1000).map { call(0, 1, "f\($0)") } + [call(1, 0.001, "g")])
        // A thousand equal parts are less than a hundredth each.
        #expect(lines == [String(repeating: " ", count: 12) + "… 1001 calls of less than 1 % each"])
        let deep = tree((0..<1000).map { call($0, 1, "f\($0)") })
        #expect(deep.count == 401)
        #expect(deep.last?.hasSuffix("… 600 more calls") == true)
    }

    @Test func `A recursion is told by its head, its length and its tail`() {
        let lines = tree([call(0, 1, "main")] + (1..<300).map { call($0, 1, $0 % 2 == 0 ? "even" : "odd") })
        #expect(lines.count < 10)
        #expect(lines.contains { $0.hasSuffix("more calls of the same 2 functions") })
    }

    @Test func `A report of a stall says what stalled`() {
        var report = SampleStall.report(label: "main loop")
        report.stall?.processorSeconds = 1.2
        report.stall?.waitedForProcessorSeconds = 0.031
        report.stall?.lengths.add(seconds: 0.3)
        report.stall?.ticks = .init(count: 90, missed: 10, lateness: .init(), smoothness: 0.9, hitchRatio: 99.96)
        let text = ReportText(report).text()
        for line in [
            "what      stall 1 of its process, of the event loop \"main loop\"\n",
            "length    1.5 s (a stall from 250 ms on)\n", "thread    running 1.5 s (100 %)\n",
            "processor 1.2 s on it, 31 ms ready and waiting for it\n",
            "ticks     90 came, 10 missed, 90.0 % smooth, 100.0 ms of each second held up\n",
            "where     sweep() (Agent.swift:58)\n", "Where the time went: 1.5 s, 75 samples\n",
            "Last sample: thread 12, the main thread\n", "How long 2 stalls took\n  up to 500 ms  1  ",
        ] {
            #expect(text.contains(line), "\(line)\(text)")
        }
        #expect(!text.contains("none"))
        #expect(!text.contains(" fault"))
    }

    @Test func `A single stall needs no chart, and one without an end has none`() {
        let text = ReportText(SampleStall.report(end: .never)).text()
        #expect(!text.contains("How long"))
        #expect(text.contains("length    at least 1.5 s, no end seen (a stall from 250 ms on)\n"))
        #expect(!text.contains(" at 0"))
    }

    @Test func `What was pinged has no thread to show`() {
        let text = ReportText(SampleStall.ping()).text()
        #expect(text.contains("what      stall 1 of its process, of \"main queue\", which was pinged\n"))
        for word in ["Last sample", "thread 0", "where", "no frames", "none"] {
            #expect(!text.lowercased().contains(word.lowercased()), "\(text)")
        }
    }

    @Test func `In a list a stall is one, and no signal`() {
        let summary = ReportSummary(SampleStall.report(), in: ReportStore(path: "/"))
        let table = ReportTable([summary, ReportSummary(SampleReport.minimal(), in: ReportStore(path: "/"))]).text()
        #expect(table.contains("  stall    stalled for 1.5 s, running  sweep() (Agent.swift:58)  wait\n"), "\(table)")
        #expect(table.contains("  SIGABRT  abort"))
        #expect(ReportLine(summary).text().contains("  stall  wait: stalled for 1.5 s, running, in sweep()"))
    }

    @Test func `Two stalls are compared by where the time went`() {
        let (one, other) = (
            SampleStall.report(),
            SampleStall.report(
                length: 4,
                calls: [SampleStall.call(0, 4, "main", line: 12), SampleStall.call(1, 4, "purge()")]
            )
        )
        let text = ComparisonText(one, other).text()
        #expect(
            text.contains("Calls that took most of the time\n- sweep() (Agent.swift:58)\n+ purge()\n  main"),
            "\(text)"
        )
        #expect(text.contains("length\n  - 1.5 s\n  + 4 s\n"))
        #expect(!text.contains("none"))
    }
}
