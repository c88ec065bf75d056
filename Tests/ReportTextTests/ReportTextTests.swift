import ReportTestSupport
import Testing

@testable import CrashReports
@testable import ReportText

/// The text of a report, part by part.
@Suite struct ReportTextTests {
    private func text(_ frames: [String?], indices: [Int]? = nil) -> String {
        let frames = zip(indices ?? Array(frames.indices), frames).map { SampleReport.frame($0, $1) }
        return ReportText(SampleReport.minimal(frames: frames)).text()
    }

    @Test func `A recursion is told by its head, its length and its tail`() {
        let output = text(["leaf"] + Array(repeating: "recurse", count: 1000) + ["main"])
        #expect(output.split(separator: "\n").filter { $0.contains("recurse") }.count == 3)
        #expect(output.contains("… 997 more calls of the same\n> 1000  recurse"))
        #expect(output.contains(">    0  leaf") && output.contains("> 1001  main"))
    }

    @Test func `So is one in which several functions take part`() {
        let cycle = ["parse", "parseList", "parseItem"]
        let output = text(["leaf"] + (0..<300).flatMap { _ in cycle } + ["main"])
        #expect(output.contains("… 894 more calls of the same 3 functions\n"))
        #expect(output.split(separator: "\n").filter { $0.contains("parseList") }.count == 2)
    }

    @Test func `A recursion of which some was left out is still one`() {
        let names = ["leaf"] + Array(repeating: "recurse", count: 20) + ["main"]
        let output = text(names, indices: Array(0...10) + Array(5000...5010))
        #expect(output.contains("…"))
        #expect(output.contains("more calls of the same\n> 5009  recurse in agent\n> 5010  main in agent\n"))
        #expect(output.contains("… 5006 more calls"))
        #expect(!output.contains("left out"))
        // What was not recorded at other places is only said to be missing.
        #expect(text(["a", "a", "b", "b"], indices: [0, 1, 9, 10]).contains("… 7 frames are left out"))
    }

    @Test func `Short repetitions, and calls without a name, are shown one by one`() {
        #expect(!text(["a", "a", "a", "a", "a", "a", "main"]).contains("more calls"))
        #expect(!text(Array(repeating: nil, count: 50)).contains("more calls"))
        #expect(!text(["a", "b", "a", "b", "c", "a", "b"]).contains("more calls"))
    }

    @Test func `Frames that were left out are counted`() {
        #expect(text(["leaf", "main"], indices: [0, 500]).contains("… 499 frames are left out\n> 500  main"))
    }

    @Test func `The diagnosis comes first, in lines that fit`() {
        var report = SampleReport.minimal()
        let words = Array(repeating: "word", count: 50).joined(separator: " ")
        report.diagnosis = .init(summary: words, next: ["Look here.", words])
        var text = ReportText(report)
        text.layout = TextLayout(width: 60)
        let lines = text.text().split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines[0].hasPrefix("word word"))
        #expect(lines.prefix { $0 != "" }.allSatisfy { $0.count <= 60 })
        #expect(lines.contains("  1. Look here."))
        #expect(lines.contains { $0.hasPrefix("     word") })
        #expect(lines.contains("abort: terminate"))
    }

    @Test func `Other threads take a line each unless all are wanted`() {
        var report = SampleReport.minimal()
        report.otherThreads = (0..<150).map { number in
            .init(
                id: 100 + number,
                name: "worker",
                isMain: false,
                frames: [SampleReport.frame(0, "wait", isUserCode: false), SampleReport.frame(1, "work")],
                state: .sleeping,
                systemCall: "futex",
                sampledAfter: 0.0025
            )
        }
        report.threadsOmitted = 7
        var text = ReportText(report)
        let short = text.text()
        #expect(short.contains("   100  worker  sleeping in futex  work\n"))
        #expect(short.contains("… 50 more threads\n  7 more threads not looked at\n"))
        #expect(!short.contains("Thread 100"))
        text.showsAllThreads = true
        let long = text.text()
        #expect(long.contains("Thread 249 \"worker\", sleeping in futex, taken 2.5 ms after the fault\n"))
        #expect(long.split(separator: "\n").filter { $0.contains("> 1  work") }.count == 150)
    }

    @Test func `Memory is shown as bytes and characters, whatever a report says`() {
        var report = SampleReport.minimal()
        report.fault?.memory = [
            .init(address: HexAddress(.max), bytes: "48690a" + String(repeating: "00", count: 20), about: "stack"),
            .init(address: HexAddress(0), bytes: "4g", about: "odd"),
            .init(address: HexAddress(0), bytes: "4", about: "odd"),
            .init(address: HexAddress(0), bytes: String(repeating: "ff", count: 5000), about: "much"),
        ]
        report.fault?.instructions = .init(address: HexAddress(.max), bytes: "0f0b", about: "code")
        // An instruction is to blame only for what the kernel raised.
        #expect(!ReportText(report).text().contains("bytes <0f> 0b"))
        report.fault?.code = .code(1, ofSignal: 4)
        let output = ReportText(report).text()
        #expect(output.contains("  0xffffffffffffffff  48 69 0a 00") && output.contains("  Hi."))
        #expect(!output.contains("odd"))
        #expect(output.contains("… 3976 bytes more"))
        #expect(output.contains("bytes <0f> 0b"))
    }

    @Test func `A source file of another machine, or of another time, is said to be one`() {
        var frame = SampleReport.frame(0, "main", line: 1)
        frame.file = #filePath
        var report = SampleReport.minimal(frames: [frame])
        func text(on machine: String) -> String {
            var text = ReportText(report)
            text.excerpt = { SourceExcerpt(path: $0, line: $1, context: 0) }
            text.machine = machine
            return text.text()
        }
        #expect(text(on: "host").contains("ReportTextTests.swift (changed since)\n> 1 | import "))
        report.timestamp = Timestamp(seconds: 4_000_000_000)
        #expect(text(on: "host").contains("ReportTextTests.swift\n> 1 | import "))
        #expect(text(on: "another").contains("ReportTextTests.swift (as it is on this machine)\n"))
    }
}
