package import CrashReports

/// A list of reports as a table.
package struct ReportTable {
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
            [
                .init(text: String(summary.id.rawValue.prefix(digits))),
                .init(text: layout.zone.brief(summary.timestamp)),
                .init(text: summary.process), .init(text: String(summary.pid)), .init(text: summary.subject),
                .init(text: summary.reason), .init(text: summary.location),
                .init(text: summary.outcome, style: summary.verdict.style),
            ]
        }
        var table = AlignedTable(Self.columns(layout.zone), rows, layout)
        table.fit(times: [1])
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
        let pieces: [(text: String, style: StyledText.Style)] = [
            (String(summary.id.rawValue.prefix(12)) + "  ", .faint),
            (layout.zone.brief(summary.occurrences.last) + "  ", .plain),
            ("\(summary.process)[\(summary.pid)]  ", .plain), (summary.subject + "  ", .plain),
            (summary.outcome, summary.verdict.style), (": ", .plain), (summary.reason, .bold),
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

/// A table of groups of reports: what `crashreport list --group` and `crashreport stats` print.
package struct GroupTable {
    private static func columns(_ zone: DisplayZone) -> [AlignedTable.Column] {
        [
            .init(title: "GROUP"), .init(title: "COUNT", isNumeric: true),
            .init(title: "REPORTS", isNumeric: true, dispensability: 1),
            // How often, since when and in which builds a fault happens is asked first.
            .init(title: "FIRST (\(zone.title))", dispensability: 7), .init(title: "LAST (\(zone.title))"),
            .init(title: "PROCESS", narrowest: 8, dispensability: 3), .init(title: "SIGNAL", dispensability: 2),
            .init(title: "REASON", narrowest: 24), .init(title: "WHERE", narrowest: 16, dispensability: 5),
            .init(title: "BUILDS", narrowest: 12, dispensability: 6),
            .init(title: "VERDICTS", narrowest: 8, dispensability: 4),
        ]
    }

    private let groups: [ReportGroup]

    /// Takes the groups.
    ///
    /// - Parameter groups: What to list, in the order of the lines.
    package init(_ groups: [ReportGroup]) {
        self.groups = groups
    }

    /// Writes the table.
    ///
    /// - Parameter layout: What it may use; without a width nothing is cut.
    /// - Returns: A line of titles and one for each group, without any character that controls a terminal but those for colours.
    package func text(_ layout: TextLayout = .plain) -> String {
        var output = StyledText(layout)
        write(to: &output)
        return output.text
    }

    func write(to output: inout StyledText) {
        let layout = output.layout
        let rows = groups.map { group -> [AlignedTable.Cell] in
            [
                .init(text: group.fingerprint.rawValue), .init(text: String(group.count), style: .bold),
                .init(text: String(group.reports)), .init(text: layout.zone.brief(group.first)),
                .init(text: layout.zone.brief(group.last)),
                .init(text: group.processes.joined(separator: ", ")), .init(text: group.subject),
                .init(text: group.reason + group.longestText), .init(text: group.location),
                .init(text: group.buildText), .init(text: group.verdictText, style: group.worstVerdict.style),
            ]
        }
        var table = AlignedTable(Self.columns(layout.zone), rows, layout)
        table.fit(times: [3, 4], fingerprints: [0])
        table.write(to: &output)
    }
}

extension ReportGroup {
    /// How long the longest of several stalls took.
    fileprivate var longestText: String {
        guard count > 1, let longest else { return "" }
        return " (longest \(CrashReport.Stall.text(seconds: longest)))"
    }

    /// The starts of the build identifiers, with how often.
    fileprivate var buildText: String {
        let shown = versions.prefix(3).map { version in
            "\(version.buildID.map { String($0.prefix(8)) } ?? "Holdfast \(version.holdfast)") (\(version.count))"
        }
        return shown.joined(separator: ", ") + (versions.count > 3 ? ", \(versions.count - 3) more" : "")
    }

    /// The verdicts, the most frequent first, with how often if there are several.
    fileprivate var verdictText: String {
        guard verdicts.count > 1 else { return verdicts.keys.first ?? "" }
        let sorted = verdicts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return sorted.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }

    /// The verdict that was worst for the process.
    fileprivate var worstVerdict: CrashReport.Verdict.Decision {
        let order: [CrashReport.Verdict.Decision] = [.resume, .wait, .restart]
        let ranks = verdicts.keys.map { name in order.firstIndex { $0.rawValue == name } ?? order.count }
        let worst = ranks.max() ?? 0
        return worst < order.count ? order[worst] : .terminate
    }
}

extension ReportSummary {
    /// What was decided.
    fileprivate var outcome: String { verdict.rawValue + (quarantined == true ? ", quarantined" : "") }
}
