import Foundation
import ReportTestSupport
import TestSupport
import Testing

@testable import CrashReports
@testable import ReportExports

/// Apple's text, against its layout: that of PLCrashReporter's `PLCrashReportTextFormatter.m`.
@Suite(.timeLimit(.minutes(10))) struct AppleCrashTextTests {
    @Test func `The text of a rich report is the golden one`() throws {
        #expect(AppleCrashText(RichReport.report()).text() == (try Golden.text("rich.crash")))
    }

    @Test func `The text of a plain report is the golden one`() throws {
        #expect(AppleCrashText(try Fixture.report("v1-plain.json")).text() == (try Golden.text("plain.crash")))
    }

    @Test(arguments: ["rich.crash", "plain.crash"])
    func `A golden text fits the grammar of the layout`(name: String) throws {
        let found = try AppleCrashGrammar.parse(try Golden.text(name))
        #expect(found.images == 2)
        #expect(found.crashedThread == 0)
        #expect(found.frames >= 5)
        #expect(found.registers >= 6)
    }

    @Test func `A hostile report fits the grammar, and adds no thread to it`() throws {
        let report = try HostileReports.fault()
        let found = try AppleCrashGrammar.parse(AppleCrashText(report).text())
        #expect(found.threads == report.otherThreads.count + 1)
        #expect(found.images == report.images.count)
        #expect(found.crashedThread == 0)
    }

    private static let places: [(base: UInt64, end: UInt64, last: UInt64)] = [
        (.max, .max, .max), (.max, 0, .max), (0, 0, 0), (0x1000, .max, .max - 1), (0x2000, 0x1000, 0x2000),
    ]

    @Test(arguments: places)
    func `An image may be anywhere, even at the top of memory`(base: UInt64, end: UInt64, last: UInt64) throws {
        var report = RichReport.report()
        report.images[0].base = HexAddress(base)
        report.images[0].end = HexAddress(end)
        let text = AppleCrashText(report).text()
        #expect(text.contains("\(HexAddress(base)) - "))
        let shown = HexAddress(last).description
        #expect(text.contains(" - \(String(repeating: " ", count: 18 - shown.count))\(shown) "))
        _ = try SentryEnvelope(report).bytes()
        _ = try OTLPLogs([report]).bytes()
    }

    @Test func `The main thread is number 0 whoever crashed`() throws {
        var report = RichReport.report()
        report.thread.isMain = false
        report.thread.id = 9000
        report.otherThreads[0].isMain = true
        let text = AppleCrashText(report).text()
        #expect(text.contains("Crashed Thread:  2\n"))
        #expect(text.contains("Thread 2 Crashed:\n0   mail-agent"))
        #expect(text.contains("Thread 0 name:  resolver\nThread 0:\n0   libc.so.6"))
        #expect(text.contains("Thread 2 crashed with X86-64 Thread State:\n"))
    }
}

/// The layout as a grammar, line by line.
enum AppleCrashGrammar {
    struct Found {
        var threads = 0
        var frames = 0
        var registers = 0
        var images = 0
        var crashedThread = -1
    }

    private static let header = [
        #"Incident Identifier: [0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}"#, #"CrashReporter Key:   [0-9a-f]{16}"#,
        #"Hardware Model:      .+"#, #"Process:         .+ \[\d+\]"#, #"Path:            .+"#, #"Identifier:      .+"#,
        #"Version:         .+"#, #"Code Type:       (X86-64|ARM-64|Unknown)"#, #"Parent Process:  .+ \[\d+\]"#, "",
        #"Date/Time:       \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000"#, #"OS Version:      Linux .+ \(.+\)"#,
        "Report Version:  104", "", #"Exception Type:  .+"#, #"Exception Codes: .+ at 0x[0-9a-f]+"#,
        #"Crashed Thread:  \d+"#, "", "Application Specific Information:",
    ]
    // `%-4ld%-35S 0x%016llx %@`: a longer name moves what follows.
    private static let frame = #"\d+ {1,3}(.{35}|.{36,}) 0x[0-9a-f]{16} .+ \+ \d+( \(.+\))?( \[inlined\])?"#
    private static let registers = #"( {0,5}[\w.]+: 0x[0-9a-f]{16} ){1,4}"#
    private static let image = #" *0x[0-9a-f]+ - +0x[0-9a-f]+ [+ ].+  <([0-9a-f]{32}|\?\?\?)> .+"#

    /// Reads a text; the first line that is not as it should be is the error.
    static func parse(_ text: String) throws -> Found {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)[...]
        guard lines.popLast() == "" else { throw HarnessError("no newline at the end") }
        var found = Found()
        for pattern in header { try expect(pattern, lines.popFirst()) }
        while lines.first?.isEmpty == false { try expect(#"\*\*\* .+"#, lines.popFirst()) }
        try expect("", lines.popFirst())
        while let line = lines.first, !line.contains(" crashed with ") { try thread(&lines, &found, line) }
        try expect(
            #"Thread \#(found.crashedThread) crashed with (X86-64|ARM-64|Unknown) Thread State:"#,
            lines.popFirst()
        )
        while let line = lines.popFirst(), !line.isEmpty {
            try expect(registers, line)
            found.registers += line.split(separator: ":").count - 1
        }
        try expect("Binary Images:", lines.popFirst())
        for line in lines {
            try expect(image, line)
            found.images += 1
        }
        return found
    }

    private static func thread(_ lines: inout ArraySlice<String>, _ found: inout Found, _ first: String) throws {
        if first.hasPrefix("Thread \(found.threads) name:") {
            try expect(#"Thread \d+ name:  .+"#, lines.popFirst())
        }
        let title = lines.popFirst()
        try expect(#"Thread \#(found.threads)( Crashed)?:"#, title)
        if title?.hasSuffix(" Crashed:") == true {
            guard found.crashedThread == -1 else { throw HarnessError("two threads crashed") }
            found.crashedThread = found.threads
        }
        found.threads += 1
        while let line = lines.popFirst(), !line.isEmpty {
            try expect(frame, line)
            found.frames += 1
        }
    }

    private static func expect(_ pattern: String, _ line: String?) throws {
        guard let line, let regex = try? NSRegularExpression(pattern: "^(?:\(pattern))$") else {
            throw HarnessError("a line is missing: \(pattern)")
        }
        let whole = NSRange(line.startIndex..., in: line)
        guard regex.firstMatch(in: line, range: whole) != nil else {
            throw HarnessError("\(line.prefix(300)) is not \(pattern)")
        }
    }
}
