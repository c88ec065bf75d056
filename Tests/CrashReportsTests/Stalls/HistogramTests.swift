import Foundation
import Testing

@testable import CrashReports

@Suite struct HistogramTests {
    private func read(_ json: String) throws -> CrashReport.Histogram {
        try JSONDecoder().decode(CrashReport.Histogram.self, from: Data(json.utf8))
    }

    @Test func `Steps are of 1, 2 and 5, as they are written`() {
        let bounds = CrashReport.Histogram.bounds
        #expect(bounds.count == 27)
        #expect(bounds.first == 0.00001 && bounds.last == 5000)
        #expect(bounds == bounds.sorted())
        let texts = bounds.map { "\($0)" }
        #expect(texts.allSatisfy { $0.count <= 7 }, "no 0.30000000000000004: \(texts)")
    }

    @Test func `A bound belongs to its step`() {
        var histogram = CrashReport.Histogram()
        for seconds in [0.5, 0.5000001, 0, -1, 5000, 5000.1, .infinity] { histogram.add(seconds: seconds) }
        #expect(histogram.steps.map(\.upTo) == [0.00001, 0.5, 1, 5000, nil])
        #expect(histogram.steps.map(\.count) == [2, 1, 1, 1, 2])
        #expect(histogram.count == 7)
    }

    @Test func `Steps are in order, each once, whatever a file has`() throws {
        let histogram = try read(#"[{"count":2},{"upTo":1,"count":3},{"upTo":0.2,"count":1},{"upTo":1,"count":4}]"#)
        #expect(histogram.steps.map(\.upTo) == [0.2, 1, nil])
        #expect(histogram.steps.map(\.count) == [1, 7, 2])
        #expect(try read(#"[{"upTo":1,"count":0},{"upTo":2,"count":-5}]"#).steps.isEmpty)
        let huge = try read(#"[{"upTo":1,"count":9223372036854775807},{"upTo":1,"count":1}]"#)
        #expect(huge.count == .max)
    }

    @Test func `Any number of steps is read in no time`() throws {
        let steps = (0..<200_000).map { CrashReport.Histogram.Step(upTo: Double(200_000 - $0), count: 1) }
        var histogram = CrashReport.Histogram(steps: steps)
        histogram.add(histogram)
        #expect(histogram.steps.count == 200_000)
        #expect(histogram.steps.first == .init(upTo: 1, count: 2))
    }

    @Test func `What is written is read again`() throws {
        var histogram = CrashReport.Histogram()
        for seconds in [0.3, 12, 1e9] { histogram.add(seconds: seconds) }
        let bytes = try JSONEncoder().encode(histogram)
        #expect(try JSONDecoder().decode(CrashReport.Histogram.self, from: bytes) == histogram)
        #expect(!String(decoding: bytes, as: UTF8.self).contains("null"))
    }

    @Test func `Histograms are added up`() {
        var one = CrashReport.Histogram()
        var other = CrashReport.Histogram()
        for seconds in [0.3, 0.3, 7] { one.add(seconds: seconds) }
        for seconds in [0.4, 1e9, 0.001] { other.add(seconds: seconds) }
        one.add(other)
        #expect(one.steps.map(\.upTo) == [0.001, 0.5, 10, nil])
        #expect(one.steps.map(\.count) == [1, 3, 1, 1])
    }
}
