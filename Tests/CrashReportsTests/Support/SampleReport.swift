@testable import CrashReports

/// Reports to test with.
enum SampleReport {
    /// A report in which everything optional is absent.
    static func minimal(
        id: ReportID = ReportID(time: .now),
        message: String? = nil,
        reason: String = "abort",
        frames: [CrashReport.Frame] = [frame(0, "main")],
        recovery: CrashReport.Recovery? = nil
    ) -> CrashReport {
        let time = Timestamp(seconds: 1_795_243_212, nanoseconds: 123_456_000)
        let signal = CrashReport.Fault.NumberedName.signal(6)
        var report = CrashReport(
            id: id,
            subject: .fault(
                .init(
                    number: 1,
                    signal: signal,
                    code: .code(-6, ofSignal: 6),
                    access: .none,
                    message: message
                )
            ),
            reason: reason,
            timestamp: time,
            // Made of the whole report, below.
            fingerprint: Fingerprint(rawValue: ""),
            occurrences: .init(count: 1, first: time, last: time),
            process: .init(
                name: "agent",
                pid: 12,
                parentPid: 1,
                executable: "/bin/agent",
                arguments: ["agent"],
                startTime: time,
                uptimeSeconds: 1.5,
                restarts: 0
            ),
            host: .init(name: "host", kernel: "6.1", os: "Linux", architecture: "x86_64", processors: 2),
            runtime: .init(holdfast: HoldfastVersion.current),
            thread: .init(id: 12, isMain: true, frames: frames),
            images: [],
            verdict: .init(decision: .terminate, reason: "an abort"),
            recovery: recovery
        )
        report.fingerprint = Fingerprint(of: report)
        return report
    }

    /// A frame of user code, or of a library.
    static func frame(
        _ index: Int,
        _ function: String?,
        imageOffset: UInt64 = 0x10,
        line: Int? = nil,
        isUserCode: Bool = true
    ) -> CrashReport.Frame {
        CrashReport.Frame(
            index: index,
            address: HexAddress(0x1000 + imageOffset),
            kind: index == 0 ? .programCounter : .returnAddress,
            imageName: isUserCode ? "agent" : "libc.so.6",
            imageOffset: HexAddress(imageOffset),
            function: function,
            file: line == nil ? nil : "/src/Agent.swift",
            line: line,
            isUserCode: isUserCode
        )
    }

    /// An identifier with a given start; the rest are zeros.
    static func id(_ digits: String) throws -> ReportID {
        let text = digits + String(repeating: "0", count: ReportID.length - digits.count)
        guard let id = ReportID(rawValue: text) else { throw NoSuchID() }
        return id
    }

    private struct NoSuchID: Error {}
}
