import LinuxSystem

@testable import CrashReports

extension CrashReport {
    /// A report of an illegal instruction, with these stacks.
    static func symbolicationSample(images: [Image], thread: Thread, otherThreads: [Thread]) -> CrashReport {
        let time = Timestamp(seconds: 1_795_243_212, nanoseconds: 123_456_000)
        var report = CrashReport(
            id: ReportID(time: time),
            subject: .fault(
                Fault(number: 1, signal: .signal(4), code: .code(2, ofSignal: 4), access: .none)
            ),
            reason: "illegal instruction",
            timestamp: time,
            fingerprint: Fingerprint(rawValue: ""),
            occurrences: Occurrences(count: 1, first: time, last: time),
            process: Process(
                name: "program",
                pid: 12,
                parentPid: 1,
                executable: "/on/another/machine/program",
                arguments: ["program"],
                startTime: time,
                uptimeSeconds: 1.5,
                restarts: 0
            ),
            host: Host(name: "host", kernel: "6.1", os: "Linux", architecture: "x86_64", processors: 2),
            runtime: Runtime(holdfast: HoldfastVersion.current),
            thread: thread,
            otherThreads: otherThreads,
            images: images,
            verdict: Verdict(decision: .restart, reason: "as told")
        )
        report.explain()
        return report
    }
}
