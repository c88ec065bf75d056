@testable import CrashReports

/// Reports of stalls to test with.
enum SampleStall {
    static let timer = CrashReport.LoopState.Callout(kind: .timer, label: "retry queue", item: 17)

    /// A stall of a loop, in a callout, whose thread was in `sweep()` all the time if nothing else is said.
    static func report(
        id: ReportID = ReportID(time: .now),
        length: Double = 1.5,
        end: CrashReport.Stall.End = .wentOn,
        label: String? = nil,
        callout: CrashReport.LoopState.Callout? = timer,
        activities: [CrashReport.Stall.ActivityTime] = [.init(activity: .running, seconds: 1.5, samples: 75)],
        calls: [CrashReport.Stall.Call]? = [call(0, 1.5, "main", line: 12), call(1, 1.5, "sweep()", line: 58)]
    ) -> CrashReport {
        var report = SampleReport.minimal(id: id)
        report.verdict = .init(decision: .wait, reason: "a stall ends by itself")
        report.loop = callout.map { .init(mode: "default", activity: "beforeTimers", callout: $0, nesting: 1, pass: 7) }
        var lengths = CrashReport.Histogram()
        if end == .wentOn { lengths.add(seconds: length) }
        let stall = CrashReport.Stall(
            number: 1,
            subject: .loop,
            label: label,
            threshold: 0.25,
            begin: report.timestamp,
            length: length,
            end: end,
            activities: activities,
            profile: calls.map { .init(samples: 75, seconds: $0.first?.seconds ?? 0, calls: $0) },
            lengths: lengths
        )
        report.subject = .stall(stall)
        report.reason = stall.reason
        report.explain()
        return report
    }

    /// What was pinged and did not answer.
    static func ping(label: String = "main queue") -> CrashReport {
        var report = report(end: .never, label: label, callout: nil, activities: [], calls: nil)
        report.stall?.subject = .ping
        report.thread = .init(id: 0, isMain: false, frames: [])
        report.reason = report.stall?.reason ?? ""
        report.explain()
        return report
    }

    /// A call of a profile.
    static func call(
        _ depth: Int,
        _ seconds: Double,
        _ function: String?,
        line: Int? = nil,
        offset: UInt64 = 0x10,
        isUserCode: Bool = true
    ) -> CrashReport.Stall.Call {
        CrashReport.Stall.Call(
            depth: depth,
            seconds: seconds,
            samples: 1,
            address: HexAddress(0x1000 + offset),
            function: function,
            imageName: isUserCode ? "agent" : "libc.so.6",
            imageOffset: HexAddress(offset),
            file: line == nil ? nil : "/src/Agent.swift",
            lines: line.map { [.init(line: $0, seconds: seconds)] } ?? [],
            isUserCode: isUserCode
        )
    }

    /// A stack of some functions, the outermost first, each at a line.
    static func stack(_ functions: String..., line: Int = 1) -> [CrashReport.Frame] {
        functions.reversed().enumerated().map { SampleReport.frame($0.offset, $0.element, line: line) }
    }
}
