import ReportTestSupport
import TestSupport
import Testing

@testable import CrashReports
@testable import ReportText

/// What `show` says without `--full`.
@Suite struct BriefTextTests {
    private static let sentence = Array(repeating: "a word and another", count: 60).joined(separator: " ")

    /// A report in which everything is as long as it may be.
    private func longReport(frames: [CrashReport.Frame]) -> CrashReport {
        var report = SampleReport.minimal(message: Self.sentence, reason: Self.sentence, frames: frames)
        report.diagnosis = .init(summary: Self.sentence, next: Array(repeating: Self.sentence, count: 9))
        report.fault?.exception = .init(type: "std::runtime_error", message: Self.sentence)
        report.fault?.sender = .init(pid: 1, uid: 0)
        report.verdict.reason = Self.sentence
        report.loop = .init(
            mode: Self.sentence,
            activity: "beforeTimers",
            callout: SampleStall.timer,
            nesting: 1,
            pass: 7
        )
        report.process.buildID = String(repeating: "ab", count: 20)
        report.process.name = Self.sentence
        report.thread.name = Self.sentence
        return report
    }

    private func frames(_ count: Int) -> [CrashReport.Frame] {
        (0..<count).map { number in
            SampleReport.frame(number, "function\(number)(\(Self.sentence))", line: 2, isUserCode: number % 3 != 0)
        }
    }

    private func lines(_ text: String) -> [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

    @Test(arguments: [nil, 60, 80, 200]) func `A report fits one screen, whatever it says`(width: Int?) throws {
        for count in [0, 3, 40, 400] {
            var text = ReportText(longReport(frames: frames(count)))
            text.layout = TextLayout(width: width)
            let source = (1...9).map { "line \($0): \(Self.sentence)" }.joined(separator: "\n")
            let folder = try TemporaryFolder()
            let path = try folder.write(source, to: "Agent.swift")
            text.excerpt = { _, line in SourceExcerpt(path: path, line: line, context: 3) }
            // It reads the source, which is there as long as the folder.
            let brief = withExtendedLifetime(folder) { text.brief() }
            let lines = lines(brief).dropLast()
            #expect(lines.count <= ReportText.mostBriefLines)
            #expect(lines.last?.hasPrefix("--full shows the rest") == true)
            guard let width else { continue }
            for line in lines { #expect(DisplayWidth.of(line) <= width, "\(line)") }
            if count > 0 { #expect(lines.contains { $0.hasPrefix("> 2 | line 2") }, "the source is shown") }
        }
    }

    @Test func `What is not the program's own is counted, by whose it is`() {
        func frame(_ index: Int, _ name: String, image: Int = 0, _ imageName: String = "agent") -> CrashReport.Frame {
            var frame = SampleReport.frame(index, name, isUserCode: false)
            (frame.rawName, frame.image, frame.imageName) = (name, image, imageName)
            return frame
        }
        let frames =
            [frame(0, "$ss17_assertionFailureyy", image: 1, "libswiftCore.so"), SampleReport.frame(1, "route()")]
            + (2..<8).map { frame($0, "$s8RunLoops4stepyyF") } + [frame(8, "poll", image: 2, "libc.so.6")]
            + [SampleReport.frame(9, "main"), frame(10, "__libc_start_main", image: 2, "libc.so.6")]
        let output = ReportText(SampleReport.minimal(frames: frames)).brief()
        let calls = """
              … 1 frame of libswiftCore
            > route()
              … 6 frames of Holdfast, 1 of libc
            > main
              … 1 frame of libc

            """
        #expect(output.contains(calls), "\(output)")
    }

    @Test func `A recursion, and a program without names, are told briefly, too`() {
        let recursion = ["leaf"] + Array(repeating: "recurse", count: 1000) + ["main"]
        let frames = recursion.enumerated().map { SampleReport.frame($0.offset, $0.element) }
        let output = ReportText(SampleReport.minimal(frames: frames)).brief()
        #expect(output.contains("> recurse\n  … 997 more calls of the same\n> recurse\n> main\n"))
        let nameless = (0..<30).map { SampleReport.frame($0, nil, imageOffset: UInt64($0), isUserCode: false) }
        let bare = ReportText(SampleReport.minimal(frames: nameless)).brief()
        #expect(bare.contains("  libc.so.6+0x0\n  libc.so.6+0x1\n"))
    }

    @Test func `The tree of a stall begins where it forks`() {
        let calls = [
            SampleStall.call(0, 2, "main", line: 1), SampleStall.call(1, 2, "run", line: 2),
            SampleStall.call(2, 2, "sweep()", line: 58), SampleStall.call(3, 1.5, "parse()", line: 9),
            SampleStall.call(3, 0.5, "store()", line: 7),
        ]
        let lines = lines(ReportText(SampleStall.report(length: 2, calls: calls)).brief())
        let start = lines.firstIndex { $0.hasPrefix("Where the time went") } ?? 0
        let tree = lines[(start + 1)...].prefix { !$0.isEmpty }
        #expect(
            tree == [
                "                  … 2 callers of it", ">  100 %     2 s  sweep() at Agent.swift:58",
                ">   75 %   1.5 s  ├ parse() at Agent.swift:9", ">   25 %  500 ms  └ store() at Agent.swift:7",
            ]
        )
    }

    @Test func `A stall on one path begins with what is to blame`() {
        let calls = [
            SampleStall.call(0, 2, "main", line: 1), SampleStall.call(1, 2, "sweep()", line: 58),
            SampleStall.call(2, 2, "read", isUserCode: false),
        ]
        let output = ReportText(SampleStall.report(length: 2, calls: calls)).brief()
        #expect(output.contains("… 1 caller of it\n>  100 %  2 s  sweep() at Agent.swift:58\n   100 %  2 s  read\n"))
    }
}
