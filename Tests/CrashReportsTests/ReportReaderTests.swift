import Foundation
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// The example of CrashReportFormat.md, which sees of this package what any program sees.
@Suite(.timeLimit(.minutes(1))) struct ReportReaderTests {
    @Test func `A program of a reader's own lists a store and says what is wrong`() throws {
        let temporary = try TemporaryStore()
        try SampleStore.fill(temporary.store)
        let newest = try #require(try temporary.store.last())
        let result = try ProgramRun.run(BuiltProduct.path(of: "report-reader"), [temporary.store.path.string])
        #expect(result.exitCode == 0)
        for report in try SampleStore.reports() {
            #expect(result.output.contains("\(report.timestamp)  \(report.process.name)"))
        }
        #expect(result.output.contains("\n\(newest.diagnosis?.summary ?? newest.reason)\n"))
        for frame in newest.thread.frames where frame.isUserCode {
            #expect(result.output.contains("  \(frame.location)\n"))
        }
        let path = try BuiltProduct.path(of: "report-reader")
        #expect(try ProgramRun.run(path, [temporary.store.path.string, "nobody"]).output == "")
    }

    @Test func `The example of the page is that program`() throws {
        let page = try String(contentsOf: BuiltProduct.file("Documentation/CrashReportFormat.md"), encoding: .utf8)
        let program = BuiltProduct.file("Tests/Programs/report-reader/main.swift")
        #expect(page.contains("```swift\n\(try String(contentsOf: program, encoding: .utf8))```\n"))
    }
}
