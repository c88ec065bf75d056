package import CrashReports
import LinuxSystem

/// Reports to test with.
package enum SampleReport {
    /// What samples are made from, of which every value is replaced: only CrashReports itself can make a report of nothing.
    static let pattern = try! Fixture.report("v1-plain.json")

    /// A report in which everything optional is absent.
    package static func minimal(
        id: ReportID = ReportID(time: .now),
        message: String? = nil,
        reason: String = "abort",
        frames: [CrashReport.Frame] = [frame(0, "main")],
        recovery: CrashReport.Recovery? = nil
    ) -> CrashReport {
        let time = Timestamp(seconds: 1_795_243_212, nanoseconds: 123_456_000)
        var report = pattern
        report.id = id
        report.fault?.number = 1
        report.fault?.signal = .signal(6)
        report.fault?.code = .code(-6, ofSignal: 6)
        report.fault?.address = nil
        report.fault?.access = .none
        report.fault?.message = message
        report.reason = reason
        report.timestamp = time
        report.occurrences = .init(count: 1, first: time, last: time)
        report.process.name = "agent"
        report.process.pid = 12
        report.process.parentPid = 1
        report.process.executable = "/bin/agent"
        report.process.arguments = ["agent"]
        report.process.buildID = nil
        report.process.startTime = time
        report.process.uptimeSeconds = 1.5
        report.process.restarts = 0
        report.host.name = "host"
        report.host.kernel = "6.1"
        report.host.os = "Linux"
        report.host.architecture = "x86_64"
        report.host.processors = 2
        report.runtime.holdfast = HoldfastVersion.current
        report.runtime.swift = nil
        report.runtime.libc = nil
        report.loop = nil
        report.thread.id = 12
        report.thread.name = nil
        report.thread.isMain = true
        report.thread.frames = frames
        report.thread.registers = [:]
        report.images = []
        report.verdict.decision = .terminate
        report.verdict.reason = "an abort"
        report.recovery = recovery
        report.notes = []
        report.fingerprint = Fingerprint(of: report)
        return report
    }

    /// A frame of user code, or of a library.
    package static func frame(
        _ index: Int,
        _ function: String?,
        imageOffset: UInt64 = 0x10,
        line: Int? = nil,
        isUserCode: Bool = true
    ) -> CrashReport.Frame {
        var frame = pattern.thread.frames[0]
        frame.index = index
        frame.address = HexAddress(0x1000 + imageOffset)
        frame.kind = index == 0 ? .programCounter : .returnAddress
        frame.image = nil
        frame.imageName = isUserCode ? "agent" : "libc.so.6"
        frame.imageOffset = HexAddress(imageOffset)
        frame.function = function
        frame.file = line == nil ? nil : "/src/Agent.swift"
        frame.line = line
        frame.inlined = false
        frame.isUserCode = isUserCode
        return frame
    }

    /// An identifier with a given start; the rest are zeros.
    package static func id(_ digits: String) throws -> ReportID {
        let text = digits + String(repeating: "0", count: ReportID.length - digits.count)
        guard let id = ReportID(rawValue: text) else { throw NoSuchID() }
        return id
    }

    private struct NoSuchID: Error {}
}
