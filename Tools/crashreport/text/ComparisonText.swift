package import CrashReports

/// What two reports have in common, as text for people: `-` is the first report, `+` the second.
package struct ComparisonText {
    private let first: CrashReport
    private let second: CrashReport
    private let comparison: ReportComparison

    /// Takes two reports.
    ///
    /// - Parameters:
    ///   - first: A report.
    ///   - second: Another report.
    package init(_ first: CrashReport, _ second: CrashReport) {
        self.first = first
        self.second = second
        comparison = ReportComparison(first, second)
    }

    /// Writes the text.
    ///
    /// - Parameter layout: What it may use.
    /// - Returns: Lines, without any character that controls a terminal but those for colours.
    package func text(_ layout: TextLayout = .plain) -> String {
        var output = StyledText(layout)
        output.end("- \(Self.title(of: first, layout))", .red)
        output.end("+ \(Self.title(of: second, layout))", .green)
        output.end()
        let (left, right) = (comparison.firstFingerprint, comparison.secondFingerprint)
        // What was found by another rule was found anew.
        let rule = left == first.fingerprint && right == second.fingerprint ? "" : "by today's rule, "
        if comparison.isSameGroup {
            output.end("They are of the same group, \(rule)\(left).", .bold)
        } else {
            output.end("They are of different groups, \(rule)\(left) and \(right).", .bold)
        }
        addCalls(to: &output)
        addDifferences(to: &output)
        if !comparison.alike.isEmpty {
            output.heading("Alike")
            // Every library and limit that is alike would be a line.
            let names = comparison.alike.filter { !$0.contains(" ") || $0 == "loop mode" || $0 == "C library" }
            output.paragraph(names.joined(separator: ", "), first: "  ", rest: "  ")
        }
        return output.text
    }

    private static func title(of report: CrashReport, _ layout: TextLayout) -> String {
        "\(report.id)  \(layout.zone.stamp(report.timestamp))  \(report.process.name)[\(report.process.pid)]"
    }

    private func addCalls(to output: inout StyledText) {
        let calls = comparison.calls
        guard !calls.isEmpty else { return }
        if calls.allSatisfy({ $0.change == .same }) {
            output.heading("Calls: all \(calls.count) are alike")
            return
        }
        let isOfStalls = first.kind == .stall && second.kind == .stall
        output.heading(isOfStalls ? "Calls that took most of the time" : "Calls of the thread that faulted")
        for (index, call) in calls.enumerated() {
            // A few lines around what differs are enough to know where it is.
            let nearby = calls[max(0, index - 2)...min(calls.count - 1, index + 2)]
            guard nearby.contains(where: { $0.change != .same }) else {
                let wasNearby =
                    index > 0
                    && calls[max(0, index - 3)...min(calls.count - 1, index + 1)].contains { $0.change != .same }
                if index == 0 || wasNearby { output.end("  \(output.layout.gap)", .faint) }
                continue
            }
            switch call.change {
            case .same: output.end("  \(call.first ?? "")")
            case .removed: output.end("- \(call.first ?? "")", .red)
            case .added: output.end("+ \(call.second ?? "")", .green)
            case .moved:
                output.end("- \(call.first ?? "")", .red)
                output.end("+ \(call.second ?? "")", .green)
            }
        }
    }

    private func addDifferences(to output: inout StyledText) {
        guard !comparison.differences.isEmpty else {
            let isRun = !comparison.circumstances.isEmpty
            output.heading(isRun ? "Nothing else differs but what does from run to run." : "Nothing else differs.")
            return
        }
        output.heading("What differs")
        for field in comparison.differences {
            output.end(field.name, .bold)
            if let value = field.first { output.end("  - \(value)", .red) }
            if let value = field.second { output.end("  + \(value)", .green) }
        }
    }
}
