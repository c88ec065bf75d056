internal import CrashReports

/// The part of the text that is about the threads that did not fault.
extension ReportText {
    /// Where others would fill the screen.
    private static let mostLines = 100

    func addOtherThreads(to output: inout StyledText) {
        let others = report.otherThreads
        guard !others.isEmpty || report.threadsOmitted > 0 else { return }
        if showsAllThreads {
            for thread in others { addThread(thread, to: &output) }
        } else if !others.isEmpty {
            output.heading("Other threads (--all-threads shows their calls)")
            let columns: [AlignedTable.Column] = [
                .init(title: "THREAD", isNumeric: true), .init(title: "NAME", narrowest: 8),
                .init(title: "STATE", narrowest: 8), .init(title: "WHERE", narrowest: 12),
            ]
            let rows = others.prefix(Self.mostLines).map { thread in
                [
                    String(thread.id), (thread.name ?? "") + (thread.isMain ? " (main)" : ""),
                    Self.stateText(of: thread) ?? "", thread.location,
                ].map { AlignedTable.Cell(text: $0) }
            }
            AlignedTable(columns, Array(rows), layout).write(to: &output, titleStyle: .faint)
        }
        let hidden = showsAllThreads ? 0 : max(0, others.count - Self.mostLines)
        if hidden > 0 { output.end("  \(layout.gap) \(Count.of(hidden, "more thread"))", .faint) }
        if report.threadsOmitted > 0 {
            output.end("  \(Count.of(report.threadsOmitted, "more thread")) not looked at", .faint)
        }
    }
}

extension CrashReport.Thread {
    /// Where the thread was: its innermost frame of user code, else its innermost frame.
    var location: String {
        let frames = frames.filter { $0.runtimeFailure == nil }
        return (frames.first(where: \.isApplicationCode) ?? frames.first)?.location ?? "unknown"
    }
}
