/// A list of reports as a table.
public struct ReportTable {
    private static let titles = ["ID", "TIME (UTC)", "PROCESS", "PID", "SIGNAL", "REASON", "WHERE", "VERDICT"]
    private static let time = 1
    private static let process = 2
    private static let reason = 5
    private static let place = 6
    /// A column is not made narrower than this.
    private static let narrowest = 8

    private let rows: [[String]]
    private let decisions: [CrashReport.Verdict.Decision]

    /// Makes a table.
    ///
    /// - Parameter summaries: Its lines, in the order of their identifiers.
    public init(_ summaries: [ReportSummary]) {
        let digits = Self.distinctDigits(summaries.map(\.id.rawValue))
        rows = summaries.map { summary in
            [
                String(summary.id.rawValue.prefix(digits)), summary.timestamp.brief, summary.process,
                String(summary.pid), summary.signal, summary.reason, summary.location, Self.outcome(of: summary),
            ].map(TerminalText.visible)
        }
        decisions = summaries.map(\.verdict)
    }

    private static func outcome(of summary: ReportSummary) -> String {
        summary.verdict.rawValue + (summary.quarantined == true ? ", quarantined" : "")
    }

    /// Writes the table.
    ///
    /// - Parameters:
    ///   - width: The width of the terminal, into which the lines are made to fit; any width without one.
    ///   - usesColor: Whether to use colours.
    /// - Returns: Lines, without any character that controls a terminal but those for colours.
    public func text(width: Int?, usesColor: Bool) -> String {
        var rows = rows
        var widths = columnWidths(rows, fitting: width)
        if let width, widths.reduce(2 * (widths.count - 1), +) > width {
            // From `2026-11-21 06:40:12` to `11-21 06:40`.
            for row in rows.indices { rows[row][Self.time] = String(rows[row][Self.time].dropFirst(5).dropLast(3)) }
            widths = columnWidths(rows, fitting: width)
        }
        var output = StyledText(usesColor: usesColor)
        output.end(line(Self.titles, widths).cut(width ?? .max), .bold)
        for (row, decision) in zip(rows, decisions) {
            let verdict = row.last ?? ""
            let start = line(row.dropLast(), widths)
            if start.count + 2 + verdict.count <= width ?? .max {
                output.add(start + "  ")
                output.end(verdict, decision.style)
            } else {
                output.end("\(start)  \(verdict)".cut(width ?? .max))
            }
        }
        return output.text
    }

    /// The cells with their columns' widths; the last column is not filled up.
    private func line(_ cells: some Collection<String>, _ widths: [Int]) -> String {
        zip(cells, widths).enumerated().map { column, cell in
            column == Self.titles.count - 1 ? cell.0 : cell.0.cut(cell.1).padded(cell.1)
        }.joined(separator: "  ")
    }

    private func columnWidths(_ rows: [[String]], fitting width: Int?) -> [Int] {
        var widths = Self.titles.indices.map { column in
            rows.reduce(Self.titles[column].count) { max($0, $1[column].count) }
        }
        func excess() -> Int {
            width.map { max(0, widths.reduce(2 * (widths.count - 1), +) - $0) } ?? 0
        }
        // The two texts share what room there is; the shorter one leaves the longer what it does not need.
        if excess() > 0 {
            let isReasonLonger = widths[Self.reason] >= widths[Self.place]
            let (long, short) = isReasonLonger ? (Self.reason, Self.place) : (Self.place, Self.reason)
            let room = widths[long] + widths[short] - excess()
            widths[short] = min(widths[short], max(Self.narrowest, room / 2))
            widths[long] = min(widths[long], max(Self.narrowest, room - widths[short]))
        }
        let process = widths[Self.process]
        widths[Self.process] = min(process, max(Self.narrowest, process - excess()))
        return widths
    }

    /// How many digits tell all identifiers apart; those with a common start are neighbours.
    private static func distinctDigits(_ ids: [String]) -> Int {
        zip(ids, ids.dropFirst()).reduce(12) { digits, pair in
            guard pair.0 != pair.1 else { return digits }
            return max(digits, zip(pair.0, pair.1).prefix { $0.0 == $0.1 }.count + 1)
        }
    }
}
