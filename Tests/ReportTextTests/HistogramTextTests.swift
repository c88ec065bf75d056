import ReportText
import Testing

@testable import CrashReports

/// The lines of a histogram.
@Suite struct HistogramTextTests {
    @Test func `In words there are no gaps`() {
        var histogram = CrashReport.Histogram()
        for seconds in [0.3, 1.5, 1e9] { histogram.add(seconds: seconds) }
        #expect(histogram.lines.map(\.label) == ["up to 500 ms", "up to 1 s", "up to 2 s", "longer than 83 min 20 s"])
        #expect(histogram.lines.map(\.count) == [1, 0, 1, 1])
        #expect(CrashReport.Histogram().lines.isEmpty)
    }

    @Test func `Any number of steps has few lines`() {
        let steps = (0..<200_000).map { CrashReport.Histogram.Step(upTo: Double(200_000 - $0), count: 1) }
        var histogram = CrashReport.Histogram(steps: steps)
        histogram.add(histogram)
        #expect(histogram.lines.count <= 40)
    }
}
