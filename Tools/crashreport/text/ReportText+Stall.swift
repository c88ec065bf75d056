internal import CrashReports

/// The parts of the text that are about what did not go on.
extension ReportText {
    func addProfile(to output: inout StyledText) {
        guard let profile = report.stall?.profile else { return }
        output.heading(
            "Where the time went: \(CrashReport.Stall.text(seconds: profile.seconds)), \(Count.of(profile.samples, "sample"))"
        )
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
            output.chart(stall.lengths.lines, indent: "  ")
        }
        guard let ticks = stall.ticks, !ticks.lateness.steps.isEmpty else { return }
        output.heading("How late ticks came")
        output.chart(ticks.lateness.lines, indent: "  ")
    }
}
