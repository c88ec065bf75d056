package import CrashReports

/// Reports of stalls to test with.
package enum SampleStall {
    /// What samples are made from, of which every value is replaced: only CrashReports itself can make a profile of nothing.
    private static let pattern: (call: CrashReport.Stall.Call, profile: CrashReport.Stall.Profile) = {
        guard let profile = try! Fixture.report("v1-stall.json").stall?.profile,
            let call = profile.calls.first(where: { !$0.lines.isEmpty })
        else { fatalError("v1-stall.json has no call with a line") }
        return (call, profile)
    }()

    /// The callout of most samples.
    package static let timer: CrashReport.LoopState.Callout = {
        guard var callout = SampleReport.pattern.loop?.callout else { fatalError("v1-plain.json has no callout") }
        callout.kind = .timer
        callout.label = "retry queue"
        callout.item = 17
        return callout
    }()

    /// A stall of a loop, in a callout, whose thread was in `sweep()` all the time if nothing else is said.
    package static func report(
        id: ReportID = ReportID(time: .now),
        length: Double = 1.5,
        end: CrashReport.Stall.End = .wentOn,
        label: String? = nil,
        callout: CrashReport.LoopState.Callout? = timer,
        activities: [CrashReport.Stall.ActivityTime] = [.init(activity: .running, seconds: 1.5, samples: 75)],
        calls: [CrashReport.Stall.Call]? = [call(0, 1.5, "main", line: 12), call(1, 1.5, "sweep()", line: 58)]
    ) -> CrashReport {
        var report = SampleReport.minimal(id: id)
        report.verdict.decision = .wait
        report.verdict.reason = "a stall ends by itself"
        report.loop = callout.flatMap(loop(in:))
        var lengths = CrashReport.Histogram()
        if end == .wentOn { lengths.add(seconds: length) }
        var stall = CrashReport.Stall(
            number: 1,
            subject: .loop,
            label: label,
            threshold: 0.25,
            begin: report.timestamp,
            length: length
        )
        stall.end = end
        stall.activities = activities
        stall.profile = calls.map(profile(of:))
        stall.lengths = lengths
        report.subject = .stall(stall)
        report.reason = stall.reason
        report.explain()
        return report
    }

    /// What was pinged and did not answer.
    package static func ping(label: String = "main queue") -> CrashReport {
        var report = report(end: .never, label: label, callout: nil, activities: [], calls: nil)
        report.stall?.subject = .ping
        report.thread.id = 0
        report.thread.isMain = false
        report.thread.frames = []
        report.reason = report.stall?.reason ?? ""
        report.explain()
        return report
    }

    /// A call of a profile.
    package static func call(
        _ depth: Int,
        _ seconds: Double,
        _ function: String?,
        line: Int? = nil,
        offset: UInt64 = 0x10,
        isUserCode: Bool = true
    ) -> CrashReport.Stall.Call {
        var call = pattern.call
        call.depth = depth
        call.seconds = seconds
        call.samples = 1
        call.address = HexAddress(0x1000 + offset)
        call.function = function
        call.imageName = isUserCode ? "agent" : "libc.so.6"
        call.imageOffset = HexAddress(offset)
        call.file = line == nil ? nil : "/src/Agent.swift"
        call.lines = line.map { [lineTime($0, seconds)] } ?? []
        call.inlined = false
        call.isUserCode = isUserCode
        return call
    }

    private static func lineTime(_ line: Int, _ seconds: Double) -> CrashReport.Stall.LineTime {
        var time = pattern.call.lines[0]
        time.line = line
        time.seconds = seconds
        return time
    }

    private static func profile(of calls: [CrashReport.Stall.Call]) -> CrashReport.Stall.Profile {
        var profile = pattern.profile
        profile.samples = 75
        profile.seconds = calls.first?.seconds ?? 0
        profile.calls = calls
        profile.callsOmitted = 0
        return profile
    }

    /// The state of a loop in a callout.
    private static func loop(in callout: CrashReport.LoopState.Callout) -> CrashReport.LoopState? {
        var loop = SampleReport.pattern.loop
        loop?.mode = "default"
        loop?.activity = "beforeTimers"
        loop?.callout = callout
        loop?.nesting = 1
        loop?.pass = 7
        return loop
    }

    /// A stack of some functions, the outermost first, each at a line.
    package static func stack(_ functions: String..., line: Int = 1) -> [CrashReport.Frame] {
        functions.reversed().enumerated().map { SampleReport.frame($0.offset, $0.element, line: line) }
    }
}
