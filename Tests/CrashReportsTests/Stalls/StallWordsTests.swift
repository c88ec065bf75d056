import ReportTestSupport
import Testing

@testable import CrashReports

@Suite struct StallWordsTests {
    @Test(arguments: [
        (0, "0 ms"), (0.000012, "0.01 ms"), (0.0123, "12.3 ms"), (0.25, "250 ms"), (0.99949, "999 ms"), (0.9999, "1 s"),
        (1.25, "1.25 s"), (12.34, "12.3 s"), (119.4, "119 s"), (119.6, "2 min 0 s"), (185, "3 min 5 s"),
        (7199.6, "2 h 0 min"), (90_000, "25 h 0 min"), (1e300, "longer than the clock can tell"),
        (-1, "an unknown time"), (.infinity, "an unknown time"), (.nan, "an unknown time"),
    ])
    func `A time is told to three digits`(seconds: Double, text: String) {
        #expect(CrashReport.Stall.text(seconds: seconds) == text)
    }

    @Test func `The reason says what did not go on, for how long and why`() {
        #expect(SampleStall.report().reason == "stalled for 1.5 s, running")
        let reading = CrashReport.Stall.ActivityTime(
            activity: .systemCall,
            systemCall: "read",
            seconds: 2,
            samples: 1
        )
        #expect(
            SampleStall.report(length: 2, end: .never, activities: [reading]).reason
                == "stalled for at least 2 s, in read, no end seen"
        )
        #expect(SampleStall.ping().reason == "no answer from main queue for at least 1.5 s, no end seen")
        #expect(SampleStall.report(activities: []).reason == "stalled for 1.5 s")
        let unknown = CrashReport.Stall.ActivityTime(activity: .unknown, seconds: 2, samples: 1)
        #expect(SampleStall.report(activities: [unknown]).reason == "stalled for 1.5 s")
    }

    @Test func `A stall is over when its time has passed`() {
        let report = SampleStall.report(length: 2.5)
        #expect(report.stall?.over == report.timestamp.adding(seconds: 2.5))
    }

    @Test func `Stalls of one cause are counted, and the longest is told`() throws {
        let first = SampleStall.report(id: try SampleReport.id("01"), length: 1.5)
        var other = SampleStall.report(id: try SampleReport.id("02"), length: 3)
        other.occurrences.first = first.timestamp.adding(seconds: 60)
        other.occurrences.last = other.occurrences.first
        other.process.pid = 77
        var report = first
        report.count(stallOf: other)
        #expect(report.id == first.id)
        #expect(report.occurrences == .init(count: 2, first: first.timestamp, last: other.occurrences.last))
        #expect(report.stall?.length == 3)
        #expect(report.process.pid == 77)
        #expect(report.stall?.lengths.count == 2)
        #expect(report.reason == "stalled for 3 s, running")
        #expect(report.diagnosis?.summary.contains("took 3 s") == true)
        #expect(report.fingerprint == first.fingerprint)
        // A shorter one only counts.
        report.count(stallOf: SampleStall.report(length: 0.3))
        #expect(report.stall?.length == 3)
        #expect(report.occurrences.count == 3)
        #expect(report.stall?.lengths.steps.map(\.count) == [1, 1, 1])
        // What is no stall is not counted.
        report.count(stallOf: SampleReport.minimal())
        #expect(report.occurrences.count == 3)
    }
}
