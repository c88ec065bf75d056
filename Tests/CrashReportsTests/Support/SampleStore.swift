import CrashReports
import SystemPackage

/// A week of faults, the same in every run.
enum SampleStore {
    /// 2026-11-21 00:00 UTC.
    static let midnight: Int64 = 1_795_219_200

    /// Writes seven reports of three groups and two processes.
    static func fill(_ store: ReportStore) throws {
        for report in try reports() { try store.write(report) }
    }

    /// The reports, the oldest first.
    static func reports() throws -> [CrashReport] {
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

    /// What the reports of a group have in common.
    private struct Fault {
        var group: String
        var signal: Int
        var reason: String
        var function: String
        var verdict: CrashReport.Verdict.Decision

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
            report.fault.signal = .signal(signal)
            report.verdict = .init(decision: verdict, reason: "the rules say so")
            report.process.name = process
            report.process.pid = 4000 + number
            report.process.buildID = build
            report.process.startTime = time.adding(seconds: -60)
            report.occurrences = .init(count: count, first: time, last: time.adding(seconds: count > 1 ? 7200 : 0))
            report.runtime.holdfast = "0.2.0"
            report.context = .init(tags: ["region": number % 2 == 0 ? "eu-1" : "us-2"])
            return report
        }
    }
}
