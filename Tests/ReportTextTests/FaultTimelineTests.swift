import Testing

@testable import CrashReports
@testable import ReportText

/// Stretches of time, and the faults in them.
@Suite struct FaultTimelineTests {
    private func time(_ text: String) throws -> Timestamp { try #require(Timestamp("\(text)Z")) }

    private func once(_ time: Timestamp) -> CrashReport.Occurrences { .init(count: 1, first: time, last: time) }

    @Test(arguments: [
        (TimeUnit.minute, "2026-11-21T06:49:00"), (.tenMinutes, "2026-11-21T06:40:00"), (.hour, "2026-11-21T06:00:00"),
        (.day, "2026-11-21T00:00:00"), (.week, "2026-11-16T00:00:00"),
    ])
    func `A stretch begins where people say that it does`(unit: TimeUnit, start: String) throws {
        let fault = try time("2026-11-21T06:49:12")
        let timeline = FaultTimeline([once(fault)], in: fault...fault, unit: unit)
        #expect(timeline.counts == [1])
        #expect(timeline.start(of: 0) == (try time(start)))
    }

    @Test func `Any time makes at most 60 stretches, which hold every fault`() throws {
        let ends = [
            "1970-01-01T00:00:00", "1970-01-04T12:00:00", "1970-01-01T00:59:59", "1970-01-01T01:00:00",
            "1971-02-20T00:00:00", "1999-12-31T23:59:59", "2029-12-31T23:59:59", "2030-01-01T00:00:00",
            "2600-01-01T00:00:00", "9999-12-31T23:59:59",
        ]
        let times = try ends.map(time)
        for first in times {
            for last in times where last >= first {
                let timeline = FaultTimeline([once(first), once(last)], in: first...last)
                #expect((1...60).contains(timeline.counts.count), "\(first) \(last)")
                #expect(timeline.counts.reduce(0, +) == 2)
                #expect(timeline.start(of: 0) <= first)
                #expect(timeline.start(of: timeline.counts.count - 1) <= last)
                // After the last second there is nothing.
                #expect(timeline.start(of: timeline.counts.count) > last || last == times.last)
            }
        }
    }

    @Test func `A unit that makes too many stretches is not taken`() throws {
        let (first, last) = (try time("2026-01-01T00:00:00"), try time("2026-01-07T22:39:59"))
        #expect(FaultTimeline([once(first)], in: first...last, unit: .minute).counts.count == 10000)
        let longer = FaultTimeline([once(first)], in: first...last.adding(seconds: 1), unit: .minute)
        #expect(longer.unit == .day)
        #expect(longer.counts.count == 7)
    }

    @Test func `Without faults there is nothing to count`() throws {
        let now = Timestamp.now
        #expect(FaultTimeline([], in: now...now, unit: .hour).counts == [])
    }
}
