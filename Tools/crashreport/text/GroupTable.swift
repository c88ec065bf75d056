package import CrashReports

/// A table of groups of reports: what `crashreport list --group` and `crashreport stats` print.
package struct GroupTable {
    /// Where the two times are.
    private static let times = [3, 4]

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
        if !table.fits {
            // Without the year and the seconds: the terminal is narrow.
            for column in Self.times { table.replace(column: column) { String($0.dropFirst(5).dropLast(3)) } }
            // Commands take the start of a fingerprint.
            table.replace(column: 0) { String($0.prefix(11)) }
        }
        table.leaveOut()
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
