import ReportTestSupport
import Testing

@testable import CrashReports

/// What makes stalls one bug, and what is said of it.
@Suite struct StallCauseTests {
    private func calls(_ function: String, line: Int, called: String? = nil) -> [CrashReport.Stall.Call] {
        [SampleStall.call(0, 1.5, "main", line: 12), SampleStall.call(1, 1.5, function, line: line)]
            + (called.map { [SampleStall.call(2, 0.7, $0, isUserCode: false)] } ?? [])
    }

    @Test func `The same cause has the same fingerprint, however long and at whatever line`() {
        let one = SampleStall.report(calls: calls("sweep()", line: 58)).fingerprint
        let waiting = CrashReport.Stall.ActivityTime(activity: .lock, seconds: 9, samples: 9)
        #expect(one == SampleStall.report(length: 90, calls: calls("sweep()", line: 61, called: "match")).fingerprint)
        #expect(one == SampleStall.report(end: .never, activities: [waiting]).fingerprint)
        #expect(one.rawValue.hasPrefix("v2-"))
    }

    @Test func `Another callout, another function or another loop is another cause`() {
        let one = SampleStall.report().fingerprint
        let other = CrashReport.LoopState.Callout(kind: .timer, label: "cache", item: 17)
        let prints = [
            one, SampleStall.report(calls: calls("purge()", line: 58)).fingerprint,
            SampleStall.report(callout: other).fingerprint, SampleStall.report(callout: nil).fingerprint,
            SampleStall.report(label: "worker").fingerprint,
            SampleStall.report(label: "worker", callout: other).fingerprint,
            SampleStall.ping().fingerprint, SampleStall.ping(label: "another").fingerprint,
            SampleReport.minimal().fingerprint,
        ]
        #expect(Set(prints).count == prints.count)
    }

    @Test func `Numbers of items and of loops do not count`() {
        let one = CrashReport.LoopState.Callout(kind: .port, label: "client 79", item: 1)
        let other = CrashReport.LoopState.Callout(kind: .port, label: "client 80", item: 2)
        #expect(
            SampleStall.report(label: "worker 1", callout: one).fingerprint
                == SampleStall.report(label: "worker 2", callout: other).fingerprint
        )
    }

    @Test func `Where it stalled is where the time went, not where the last sample was`() {
        #expect(SampleStall.report().location == "sweep() (Agent.swift:58)")
        #expect(SampleStall.report(calls: nil).location == "main")
    }

    @Test(arguments: [
        (CrashReport.Stall.Activity.running, "was calculating", "on another thread"),
        (.ready, "no processor was free", "had the processors"), (.lock, "waited for a lock", "holds the lock"),
        (.systemCall, "waited in the system call read", "a time limit"),
        (.disk, "waited for a disk", "iostat"), (.stopped, "was stopped", "a debugger"),
        (.unknown, "took 1.5 s, and nothing else was served meanwhile, in sweep()", "look at the profile"),
        (
            .init(rawValue: "asleep"), "took 1.5 s, and nothing else was served meanwhile, in sweep()",
            "look at the profile"
        ),
    ])
    func `The diagnosis says what the thread did, and what to look at`(
        activity: CrashReport.Stall.Activity,
        summary: String,
        next: String
    ) throws {
        let time = CrashReport.Stall.ActivityTime(activity: activity, systemCall: "read", seconds: 1, samples: 1)
        let diagnosis = try #require(SampleStall.report(activities: [time]).diagnosis)
        #expect(diagnosis.summary.contains(summary), "\(diagnosis.summary)")
        #expect(diagnosis.summary.hasPrefix("The timer “retry queue” took 1.5 s"), "\(diagnosis.summary)")
        #expect(diagnosis.next.joined(separator: "\n").contains(next), "\(diagnosis.next)")
    }

    @Test func `A ping is told of by its name`() throws {
        let diagnosis = try #require(SampleStall.ping().diagnosis)
        #expect(diagnosis.summary == "“main queue” did not answer for 1.5 s.")
        #expect(diagnosis.next.first?.contains("other threads") == true)
    }

    @Test func `A stall that has not ended is told as that`() throws {
        let diagnosis = try #require(SampleStall.report(end: .never).diagnosis)
        #expect(diagnosis.summary.hasPrefix("The timer “retry queue” had not ended after 1.5 s"))
    }

    @Test func `A report of a kind that is not known is explained all the same`() {
        var report = SampleStall.report()
        report.subject = .other(.init(rawValue: "death"))
        report.explain()
        #expect(report.diagnosis?.summary.isEmpty == false)
        #expect(Fingerprint(of: report) != SampleStall.report().fingerprint)
    }
}
