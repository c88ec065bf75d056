/// The parts of the text that are about what did not go on.
extension ReportText {
    private static let mostActivities = 6

    func addFacts(of stall: CrashReport.Stall, to output: inout StyledText) {
        output.field("what", "stall \(stall.number) of its process, of \(stall.whose)")
        let (length, threshold) = (Self.time(stall.length), Self.time(stall.threshold))
        let end = stall.end == .never ? "at least \(length), never ended" : length
        output.field("length", "\(end) (a stall from \(threshold) on)")
        let over = stall.end == .wentOn ? ", \(stall.end.rawValue) at \(stall.over.brief.suffix(8))" : ""
        output.field("began", "\(stall.begin.brief) UTC\(over)")
        if !stall.activities.isEmpty { output.field("thread", Self.text(of: stall.activities)) }
        let processor = [
            stall.processorSeconds.map { "\(Self.time($0)) on it" },
            stall.waitedForProcessorSeconds.map { "\(Self.time($0)) ready and waiting for it" },
        ].compactMap(\.self)
        if !processor.isEmpty { output.field("processor", processor.joined(separator: ", ")) }
        if let ticks = stall.ticks { output.field("ticks", Self.text(of: ticks)) }
    }

    private static func time(_ seconds: Double) -> String { CrashReport.Stall.text(seconds: seconds) }

    /// Such as `running 1.46 s (80 %), in write 360 ms (20 %)`.
    private static func text(of activities: [CrashReport.Stall.ActivityTime]) -> String {
        let whole = activities.reduce(0) { $0 + max(0, $1.seconds) }
        let shown = activities.prefix(mostActivities).map { entry in
            let part = entry.seconds / whole * 100
            let percent = part.isFinite && part >= 0 ? " (\(Int(min(part, 100).rounded())) %)" : ""
            return "\(entry.text) \(time(entry.seconds))\(percent)"
        }
        let more = activities.count - shown.count
        return shown.joined(separator: ", ") + (more > 0 ? ", \(more) more" : "")
    }

    private static func text(of ticks: CrashReport.Stall.Ticks) -> String {
        let smooth = ticks.smoothness.isFinite ? (min(max(ticks.smoothness, 0), 1) * 1000).rounded() / 10 : 0
        let held = (min(max(ticks.hitchRatio, 0), 1000) * 10).rounded() / 10
        return "\(ticks.count) came, \(ticks.missed) missed, \(smooth) % smooth, \(held) ms of each second held up"
    }

    func addProfile(to output: inout StyledText) {
        guard let profile = report.stall?.profile else { return }
        output.heading("Where the time went: \(Self.time(profile.seconds)), \(Count.of(profile.samples, "sample"))")
        ProfileText(profile).write(to: &output)
    }

    /// The thread that faulted or stalled.
    func addMainThread(to output: inout StyledText) {
        guard report.kind == .stall else { return addThread(report.thread, to: &output) }
        // What was pinged has no thread that is known.
        guard hasThread else { return }
        addThread(report.thread, title: "Last sample: thread", to: &output)
    }

    /// Whether a thread is known that faulted or stalled.
    var hasThread: Bool { report.stall == nil || report.thread.id != 0 || !report.thread.frames.isEmpty }

    func addLengths(to output: inout StyledText) {
        guard let stall = report.stall else { return }
        if stall.lengths.count > 1 {
            output.heading("How long \(Count.of(stall.lengths.count, "stall")) took")
            HistogramText(stall.lengths).write(to: &output)
        }
        guard let ticks = stall.ticks, !ticks.lateness.steps.isEmpty else { return }
        output.heading("How late ticks came")
        HistogramText(ticks.lateness).write(to: &output)
    }
}

extension CrashReport.Kind {
    /// What happened, in a word: `fault`, `stall`.
    public var event: String { self == .stall ? "stall" : "fault" }
}
