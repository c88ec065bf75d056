import Testing

@testable import StallDetection

/// Durations in steps.
@Suite struct DurationHistogramTests {
    @Test func `Steps go from ten microseconds to more than an hour`() {
        let bounds = DurationHistogram.bounds
        #expect(bounds.first == .microseconds(10) && bounds.last == .seconds(5000))
        #expect(bounds.contains(.milliseconds(200)))
        #expect(zip(bounds, bounds.dropFirst()).allSatisfy(<))
    }

    @Test func `A bound belongs to its step, and the last step has none`() {
        var histogram = DurationHistogram()
        #expect(histogram.quantile(0.5) == nil)
        for duration in [Duration.zero, .seconds(-1), .microseconds(10), .microseconds(11), .seconds(5001)] {
            histogram.add(duration)
        }
        #expect(histogram.counts[0] == 3 && histogram.counts[1] == 1 && histogram.counts.last == 1)
        #expect(histogram.count == 5 && histogram.longest == .seconds(5001))
        #expect(histogram.total == .microseconds(21) + .seconds(5001))
    }

    @Test func `A quantile is an upper bound`() {
        var histogram = DurationHistogram()
        for milliseconds in 1...100 { histogram.add(.milliseconds(milliseconds)) }
        #expect(histogram.quantile(0) == .milliseconds(1))
        #expect(histogram.quantile(0.5) == .milliseconds(50))
        #expect(histogram.quantile(0.51) == .milliseconds(100))
        #expect(histogram.quantile(2) == .milliseconds(100))
        histogram.add(.milliseconds(150))
        #expect(histogram.quantile(1) == .milliseconds(150))
    }
}
