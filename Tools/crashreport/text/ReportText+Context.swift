package import CrashReports

/// The parts of the text that are about what the process was doing, had and was allowed.
extension ReportText {
    /// What is further back is in the JSON.
    private static let mostBreadcrumbs = 40
    private static let mostEntries = 200

    func addBreadcrumbs(to output: inout StyledText) {
        guard let context = report.context, !context.breadcrumbs.isEmpty else { return }
        output.heading("Before the \(report.kind.event)")
        let shown = context.breadcrumbs.suffix(Self.mostBreadcrumbs)
        let (hidden, isOverflow) = (context.breadcrumbs.count - shown.count).addingReportingOverflow(
            max(0, context.breadcrumbsLost)
        )
        if hidden > 0, !isOverflow { output.end("  \(layout.gap) \(hidden) earlier", .faint) }
        let faulting = report.thread.id
        for crumb in shown {
            output.add(" " + delay(from: report.timestamp, to: crumb.time).leftPadded(10) + "  ", .faint)
            output.add(crumb.kind.rawValue.padded(10), .faint)
            if let level = crumb.level { output.add(level + ": ", Self.style(ofLevel: level)) }
            output.add(crumb.text)
            if let thread = crumb.thread, thread != faulting { output.add("  [thread \(thread)]", .faint) }
            output.end()
        }
    }

    /// Such as `-1.204 s` or `-0.3 ms`.
    package func delay(from fault: Timestamp, to time: Timestamp) -> String {
        let micros = time.microsecondsSinceEpoch - fault.microsecondsSinceEpoch
        guard micros.magnitude < 100_000_000_000 else { return layout.zone.brief(time) }
        let isShort = micros.magnitude < 1_000_000
        // Seconds have three decimals, milliseconds one.
        let steps = isShort ? (micros.magnitude + 50) / 100 : (micros.magnitude + 500) / 1000
        let scale: UInt64 = isShort ? 10 : 1000
        let decimals = String(steps % scale)
        let zeros = String(repeating: "0", count: (isShort ? 1 : 3) - decimals.count)
        return "\(micros < 0 ? "-" : "+")\(steps / scale).\(zeros)\(decimals) \(isShort ? "ms" : "s")"
    }

    private static func style(ofLevel level: String) -> StyledText.Style {
        switch level {
        case "critical", "error": .red
        case "warning": .yellow
        default: .faint
        }
    }

    func addContext(to output: inout StyledText) {
        guard let context = report.context else { return }
        addPairs("Annotations", context.annotations, to: &output)
        addResources(context, to: &output)
        addPairs("Environment", context.environment, to: &output)
    }

    private func addPairs(_ title: String, _ pairs: [String: String], to output: inout StyledText) {
        guard !pairs.isEmpty else { return }
        output.heading(title)
        let sorted = pairs.sorted { $0.key < $1.key }.prefix(Self.mostEntries)
        let width = min(30, sorted.map { DisplayWidth.of(layout.visible($0.key)) }.max() ?? 0)
        for (key, value) in sorted {
            output.add("  " + layout.visible(key).padded(width) + "  ", .faint)
            output.end(value)
        }
        if pairs.count > sorted.count { output.end("  \(layout.gap) \(pairs.count - sorted.count) more", .faint) }
    }

    private func addResources(_ context: CrashReport.Context, to output: inout StyledText) {
        let facts = context.resources
        guard !facts.isEmpty else { return }
        output.heading("Resources")
        for fact in facts {
            output.paragraph(fact.text, first: "  " + fact.name.padded(11), rest: String(repeating: " ", count: 13))
        }
    }
}
