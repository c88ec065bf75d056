package import CrashReports

/// A report in one line.
package struct ReportLine {
    private let summary: ReportSummary

    /// Takes a summary.
    ///
    /// - Parameter summary: The report.
    package init(_ summary: ReportSummary) {
        self.summary = summary
    }

    /// Writes the line.
    ///
    /// - Parameter layout: What it may use; the line is cut to the width.
    /// - Returns: The line, without any character that controls a terminal but those for colours.
    package func text(_ layout: TextLayout = .plain) -> String {
        let outcome = summary.verdict.rawValue + (summary.quarantined == true ? ", quarantined" : "")
        let pieces: [(text: String, style: StyledText.Style)] = [
            (String(summary.id.rawValue.prefix(12)) + "  ", .faint),
            (layout.zone.brief(summary.occurrences.last) + "  ", .plain),
            ("\(summary.process)[\(summary.pid)]  ", .plain), (summary.subject + "  ", .plain),
            (outcome, summary.verdict.style), (": ", .plain), (summary.reason, .bold),
            (", in \(summary.location)", .plain),
        ]
        var output = StyledText(layout)
        var room = layout.width ?? .max
        for piece in pieces where room > 0 {
            let text = layout.visible(piece.text).cut(room, layout.ellipsis)
            output.add(text, piece.style)
            room -= DisplayWidth.of(text)
        }
        output.end()
        return output.text
    }
}
