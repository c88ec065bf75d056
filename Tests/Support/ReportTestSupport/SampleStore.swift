package import CrashReports
import Foundation

/// A week of faults, the same in every run.
package enum SampleStore {
    /// 2026-11-21 00:00 UTC.
    package static let midnight: Int64 = 1_795_219_200

    /// Writes seven reports of three groups and two processes.
    package static func fill(_ store: ReportStore) throws {
        for report in try reports() { try store.write(report) }
    }

    /// The reports, the oldest first.
    package static func reports() throws -> [CrashReport] {
        let nilUnwrap = Fault(
            group: "v2-1111111111111111",
            signal: 4,
            reason: "Unexpectedly found nil while unwrapping an Optional value",
            function: "Router.route(for:)",
            verdict: .resume
        )
        let overflow = Fault(
            group: "v2-2222222222222222",
            signal: 11,
            reason: "stack overflow",
            function: "パーサー.解析(_:) 🧑‍🚀 e\u{301}",
            verdict: .restart
        )
        let killed = Fault(
            group: "v2-3333333333333333",
            signal: 6,
            reason: "abort: free(): double free detected in tcache 2",
            function: "Cache.evict()",
            verdict: .terminate
        )
        return [
            try nilUnwrap.report(1, hours: -140, process: "mail-agent", build: "aaaa0000"),
            try nilUnwrap.report(2, hours: -20, process: "mail-agent", build: "bbbb1111"),
            try overflow.report(3, hours: -19, process: "邮件-agent", build: nil),
            try nilUnwrap.report(4, hours: -5, process: "mail-agent", build: "bbbb1111", count: 41),
            try killed.report(5, hours: -4, process: "mail-agent", build: "bbbb1111"),
            try overflow.report(6, hours: 1, process: "邮件-agent", build: nil),
            try nilUnwrap.report(7, hours: 2, process: "mail-agent", build: "bbbb1111"),
        ]
    }

    /// Writes three reports of stalls, of two causes.
    package static func fillWithStalls(_ store: ReportStore) throws {
        var counted = try stall(1, seconds: 3600, length: 1.5)
        counted.count(stallOf: try stall(1, seconds: 3700, length: 3.2))
        counted.count(stallOf: try stall(1, seconds: 3800, length: 0.4))
        for report in [counted, try stall(2, seconds: 5000, length: 0.7), try stall(0, seconds: 8000, length: 12.5)] {
            try store.write(report)
        }
    }

    /// A stall in `RetryQueue.sweep()`, or of a queue that does not answer for number 0.
    package static func stall(_ number: Int, seconds: Int64, length: Double) throws -> CrashReport {
        let time = Timestamp(seconds: midnight + seconds)
        let id = try SampleReport.id(String(ReportID(time: time).rawValue.prefix(12)) + "a\(number)")
        let calls = [
            SampleStall.call(0, length, "main", line: 12), SampleStall.call(1, length, "RetryQueue.sweep()", line: 58),
        ]
        var report =
            number == 0 ? SampleStall.ping() : SampleStall.report(length: length, label: "main loop", calls: calls)
        report.id = id
        report.timestamp = time
        report.stall?.begin = time
        report.stall?.length = length
        report.reason = report.stall?.reason ?? ""
        report.process.name = "mail-agent"
        report.process.pid = 4100 + number
        report.process.startTime = time.adding(seconds: -60)
        report.occurrences = .init(count: 1, first: time, last: time)
        report.runtime.holdfast = "0.2.0"
        report.explain()
        return report
    }

    /// What the reports of a group have in common.
    private struct Fault {
        var group: String
        var signal: Int
        var reason: String
        var function: String
        var verdict: CrashReport.Verdict.Decision

        private static let emptyContext = """
            {"breadcrumbs":[],"breadcrumbsLost":0,"annotations":{},"tags":{},"environment":{},"limits":{}}
            """

        func report(
            _ number: Int,
            hours: Int64,
            process: String,
            build: String?,
            count: Int = 1
        ) throws -> CrashReport {
            let time = Timestamp(seconds: SampleStore.midnight + hours * 3600)
            let frames = [
                SampleReport.frame(0, function, line: 88), SampleReport.frame(1, "main", line: 12),
                SampleReport.frame(2, "__libc_start_main", isUserCode: false),
            ]
            let id = try SampleReport.id(String(ReportID(time: time).rawValue.prefix(12)) + String(number))
            var report = SampleReport.minimal(id: id, reason: reason, frames: frames)
            report.timestamp = time
            report.fingerprint = Fingerprint(rawValue: group)
            report.fault?.signal = .signal(signal)
            report.verdict.decision = verdict
            report.verdict.reason = "the rules say so"
            report.process.name = process
            report.process.pid = 4000 + number
            report.process.buildID = build
            report.process.startTime = time.adding(seconds: -60)
            report.occurrences = .init(count: count, first: time, last: time.adding(seconds: count > 1 ? 7200 : 0))
            report.runtime.holdfast = "0.2.0"
            report.context = try JSONDecoder().decode(CrashReport.Context.self, from: Data(Self.emptyContext.utf8))
            report.context?.tags = ["region": number % 2 == 0 ? "eu-1" : "us-2"]
            return report
        }
    }
}
