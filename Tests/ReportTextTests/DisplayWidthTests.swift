import ReportTestSupport
import SystemPackage
import Testing

@testable import CrashReports
@testable import ReportText

@Suite struct DisplayWidthTests {
    @Test(arguments: [
        ("", 0), ("agent", 5), ("é", 1), ("e\u{301}", 1), ("中文", 4), ("ｱ", 1), ("Ａ", 2), ("한국", 4), ("😀", 2), ("❤️", 2),
        ("🇩🇪", 2), ("👍🏽", 2), ("👩‍👩‍👧", 2), ("a😀b", 4), ("नि", 2), ("\u{301}", 0), ("→", 1), ("…", 1),
    ])
    func `Text takes the columns that a terminal gives it`(text: String, columns: Int) {
        #expect(DisplayWidth.of(text) == columns)
    }

    @Test func `A line is cut between characters, never inside of one`() {
        let text = "é中e\u{301}😀👩‍👩‍👧z"
        for width in 0...10 {
            let start = DisplayWidth.prefix(of: text, fitting: width)
            #expect(DisplayWidth.of(start) <= width)
            #expect(text.hasPrefix(start))
            // The next character would not have fitted.
            if start.count < text.count {
                #expect(DisplayWidth.of(text.prefix(start.count + 1)) > width)
            }
        }
        #expect(DisplayWidth.prefix(of: text, fitting: 100) == text)
    }

    @Test(arguments: [20, 40, 80, 120, 200]) func `A table fits, whatever is in it`(width: Int) throws {
        let summaries = try SampleStore.reports().map { ReportSummary($0, in: ReportStore(path: "/")) }
        for isUnicode in [true, false] {
            let text = ReportTable(summaries).text(TextLayout(width: width, isUnicode: isUnicode))
            let lines = text.split(separator: "\n")
            #expect(lines.count == 8)
            for line in lines { #expect(DisplayWidth.of(line) <= width) }
        }
    }

    @Test func `Columns line up under wide characters`() throws {
        let summaries = try SampleStore.reports().map { ReportSummary($0, in: ReportStore(path: "/")) }
        let lines = ReportTable(summaries).text().split(separator: "\n")
        let starts = lines.dropFirst().map { line in
            line.range(of: "SIG").map { DisplayWidth.of(line[..<$0.lowerBound]) }
        }
        #expect(Set(starts).count == 1)
    }
}

extension Substring {
    fileprivate func range(of text: String) -> Range<String.Index>? { firstRange(of: text) }
}
