import Foundation
import ReportTestSupport
import SystemPackage
import Testing

@testable import CrashReports

@Suite(.timeLimit(.minutes(10))) struct RecentFaultsTests {
    private let temporary: TemporaryStore
    private var store: ReportStore { temporary.store }
    private let now = Timestamp(seconds: 1_795_243_212)

    init() throws {
        temporary = try TemporaryStore()
    }

    /// A report of a fault some seconds ago.
    private func report(
        secondsAgo: Double,
        number: Int = 1,
        change: (inout CrashReport) -> Void = { _ in }
    ) -> CrashReport {
        let time = now.adding(seconds: -secondsAgo)
        var report = SampleReport.minimal(id: ReportID(time: time))
        report.timestamp = time
        report.occurrences = .init(count: 1, first: time, last: time)
        report.fault?.number = number
        change(&report)
        return report
    }

    private func find(within seconds: Double = 60, limit: Int = 64) -> [RecentFault] {
        RecentFaults.find(
            in: store,
            processName: "agent",
            executable: "/bin/agent",
            withinSeconds: seconds,
            limit: limit,
            now: now
        )
    }

    @Test func `The faults of one program are found, the newest first`() throws {
        for (index, seconds) in [30, 59.5, 61, 3600, 0.5].enumerated() {
            try store.write(report(secondsAgo: seconds, number: index))
        }
        try store.write(report(secondsAgo: 1) { $0.process.executable = "/opt/agent" })
        try store.write(report(secondsAgo: 2) { $0.process.name = "other" })
        try store.write(report(secondsAgo: -5))
        let ages = find().map { now.microsecondsSinceEpoch - $0.time.microsecondsSinceEpoch }
        #expect(ages == [500_000, 30_000_000, 59_500_000])
        #expect(find(limit: 1).map(\.time) == [now.adding(seconds: -0.5)])
        #expect(find(limit: 0) == [])
        #expect(find(within: -1) == [])
        #expect(find(within: 7200).count == 5)
    }

    @Test(arguments: [
        ("7-%.spool", [1.0, 5]), ("7-1.spool", [1, 5, 30]), ("8-%.spool", [1, 5, 30]), ("7-x.spool", [1, 5, 30]),
        ("7-18446744073709551615.spool", [1, 5, 30]),
    ])
    func `After a restart in place nothing older than the process before is looked at`(
        name: String,
        ages: [Double]
    )
        throws
    {
        let began = now.adding(seconds: -10).microsecondsSinceEpoch * 1000
        for (index, seconds) in [30, 5, 90, 1.0].enumerated() {
            try store.write(report(secondsAgo: seconds, number: index) { $0.process.pid = 7 })
        }
        try Data("no spool".utf8)
            .write(to: URL(fileURLWithPath: store.spoolPath.appending(name.replacing("%", with: "\(began)")).string))
        let found = RecentFaults.ofPredecessor(
            pid: 7,
            in: store,
            processName: "agent",
            executable: "/bin/agent",
            withinSeconds: 60,
            now: now
        )
        #expect(found.map(\.time) == ages.map { now.adding(seconds: -$0) })
    }

    @Test func `A stall ends nothing, and does not count`() throws {
        try store.write(report(secondsAgo: 2))
        for seconds in [1, 3.0] {
            try store.write(
                report(secondsAgo: seconds) {
                    $0.subject = SampleStall.report().subject
                    $0.verdict = .init(decision: .wait, reason: "a stall")
                }
            )
        }
        #expect(find().map(\.time) == [now.adding(seconds: -2)])
        #expect(find(limit: 1).map(\.time) == [now.adding(seconds: -2)])
    }

    @Test func `A fault says what became of it and whose callout it was`() throws {
        try store.write(
            report(secondsAgo: 1) {
                $0.loop = .init(
                    mode: "default",
                    activity: "beforeTimers",
                    callout: .init(kind: .timer, label: "retry queue", item: 3),
                    nesting: 1,
                    pass: 2
                )
                $0.verdict = .init(decision: .resume, reason: "a reason")
                $0.recovery = .init(quarantined: true)
                $0.occurrences.count = 7
            }
        )
        let fault = try #require(find().first)
        #expect(fault.pid == 12)
        #expect(fault.verdict == .resume)
        #expect(fault.signal == 6)
        #expect(fault.number == 1)
        #expect(!fault.isForkedChild)
        #expect(fault.kind == .timer)
        #expect(fault.label == "retry queue")
        #expect(fault.isQuarantined)
        #expect(fault.count == 7)
    }

    @Test func `A report that says nothing of a recovery is read`() throws {
        let fixture = try CrashReport(json: try Fixture.bytes("v1-plain.json"))
        try store.write(fixture)
        let faults = RecentFaults.find(
            in: store,
            processName: "mail-agent",
            executable: "/usr/local/bin/mail-agent",
            withinSeconds: 60,
            now: fixture.timestamp
        )
        #expect(faults.map(\.label) == ["retry queue"])
        #expect(faults.first?.isQuarantined == false)
    }

    @Test func `What is damaged or strange is passed over`() throws {
        #expect(find() == [], "there is no store")
        try store.write(report(secondsAgo: 5))
        let digits = String(report(secondsAgo: 1).id.rawValue.dropLast(3))
        try temporary.plant("{".utf8, name: digits + "001.json")
        try temporary.plant(repeatElement(0xff, count: 4096), name: digits + "002.json")
        try temporary.plant("[]".utf8, name: digits + "00g.json")
        try temporary.plant("{}".utf8, name: "zzzz.json")
        let link = store.reportsPath.appending(digits + "003.json").string
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/dev/zero")
        #expect(mkfifo(store.reportsPath.appending(digits + "004.json").string, 0o600) == 0)
        #expect(mkfifo(store.spoolPath.appending("1-2.spool").string, 0o600) == 0)
        try Data("HFSPOOL".utf8).write(to: URL(fileURLWithPath: store.spoolPath.appending("1-3.spool").string))
        #expect(find().count == 1)
    }
}
