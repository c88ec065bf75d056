package import CrashReports

/// A list of groups as a table.
package struct GroupTable {
    private static let first = 3
    private static let last = 4
    private static func columns(_ zone: DisplayZone) -> [AlignedTable.Column] {
        [
            .init(title: "GROUP"), .init(title: "COUNT", isNumeric: true),
            .init(title: "REPORTS", isNumeric: true, dispensability: 1),
            .init(title: "FIRST (\(zone.title))", dispensability: 3), .init(title: "LAST (\(zone.title))"),
            .init(title: "PROCESS", narrowest: 8, dispensability: 4), .init(title: "SIGNAL", dispensability: 2),
            .init(title: "REASON", narrowest: 28), .init(title: "WHERE", narrowest: 16, dispensability: 6),
            .init(title: "VERDICTS", narrowest: 8, dispensability: 5),
        ]
    }

    private let groups: [ReportGroup]

    /// Makes a table.
    ///
    /// - Parameter groups: Its lines.
    package init(_ groups: [ReportGroup]) {
        self.groups = groups
    }

    /// Writes the table.
    ///
    /// - Parameter layout: What it may use; the lines are made to fit the width.
    /// - Returns: Lines, without any character that controls a terminal but those for colours.
    package func text(_ layout: TextLayout = .plain) -> String {
        let rows = groups.map { group -> [AlignedTable.Cell] in
            [
                .init(text: group.fingerprint.rawValue), .init(text: String(group.count), style: .bold),
                .init(text: String(group.reports)), .init(text: layout.zone.brief(group.first)),
                .init(text: layout.zone.brief(group.last)),
                .init(text: group.processes.joined(separator: ", ")), .init(text: group.subject),
                .init(text: group.reason), .init(text: group.location),
                .init(text: group.verdictText, style: group.worstVerdict.style),
            ]
        }
        var table = AlignedTable(Self.columns(layout.zone), rows, layout)
        if !table.fits {
            for column in [Self.first, Self.last] {
                table.replace(column: column) { String($0.dropFirst(5).dropLast(3)) }
            }
        }
        table.leaveOut()
        var output = StyledText(layout)
        table.write(to: &output)
        return output.text
    }
}

extension ReportGroup {
    /// The verdicts, the most frequent first, with how often if there are several, such as `resume 12, restart 1`.
    var verdictText: String {
        guard verdicts.count > 1 else { return verdicts.keys.first ?? "" }
        let sorted = verdicts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return sorted.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }

    /// The worst of them.
    var worstVerdict: CrashReport.Verdict.Decision {
        let order: [CrashReport.Verdict.Decision] = [.resume, .wait, .restart]
        return verdicts.keys.map { name -> CrashReport.Verdict.Decision in
            order.first { $0.rawValue == name } ?? .terminate
        }.max { order.firstIndex(of: $0) ?? order.count < order.firstIndex(of: $1) ?? order.count } ?? .resume
    }
}
