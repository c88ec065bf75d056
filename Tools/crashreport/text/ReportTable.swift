package import CrashReports

/// A list of reports as a table.
package struct ReportTable {
    private static let time = 1
    private static func columns(_ zone: DisplayZone) -> [AlignedTable.Column] {
        [
            .init(title: "ID"), .init(title: "TIME (\(zone.title))"),
            .init(title: "PROCESS", narrowest: 8, dispensability: 4),
            .init(title: "PID", isNumeric: true, dispensability: 1), .init(title: "SIGNAL", dispensability: 2),
            .init(title: "REASON", narrowest: 28), .init(title: "WHERE", narrowest: 16, dispensability: 3),
            .init(title: "VERDICT"),
        ]
    }

    private let summaries: [ReportSummary]
    private let digits: Int

    /// Makes a table.
    ///
    /// - Parameter summaries: Its lines.
    package init(_ summaries: [ReportSummary]) {
        self.summaries = summaries
        digits = Self.distinctDigits(of: summaries.map(\.id))
    }

    /// Writes the table.
    ///
    /// - Parameter layout: What it may use; the lines are made to fit the width.
    /// - Returns: Lines, without any character that controls a terminal but those for colours.
    package func text(_ layout: TextLayout = .plain) -> String {
        let rows = summaries.map { summary -> [AlignedTable.Cell] in
            let outcome = summary.verdict.rawValue + (summary.quarantined == true ? ", quarantined" : "")
            return [
                .init(text: String(summary.id.rawValue.prefix(digits))),
                .init(text: layout.zone.brief(summary.timestamp)),
                .init(text: summary.process), .init(text: String(summary.pid)), .init(text: summary.subject),
                .init(text: summary.reason), .init(text: summary.location),
                .init(text: outcome, style: summary.verdict.style),
            ]
        }
        var table = AlignedTable(Self.columns(layout.zone), rows, layout)
        // From `2026-11-21 06:40:12` to `11-21 06:40`.
        if !table.fits { table.replace(column: Self.time) { String($0.dropFirst(5).dropLast(3)) } }
        table.leaveOut()
        var output = StyledText(layout)
        table.write(to: &output)
        return output.text
    }

    /// How many digits tell identifiers apart, 12 at least.
    ///
    /// - Parameter ids: The identifiers.
    /// - Returns: The number of digits.
    package static func distinctDigits(of ids: [ReportID]) -> Int {
        // Those with a common start are neighbours.
        let sorted = ids.map(\.rawValue).sorted()
        return zip(sorted, sorted.dropFirst()).reduce(12) { digits, pair in
            guard pair.0 != pair.1 else { return digits }
            return max(digits, zip(pair.0.utf8, pair.1.utf8).prefix { $0.0 == $0.1 }.count + 1)
        }
    }
}
