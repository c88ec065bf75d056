package import CrashReports

/// How often, since when and in which versions, as text for people.
package struct StatisticsText {
    /// How many characters show when the faults of a group happened.
    private static let sparks = 24

    private let groups: [ReportGroup]
    private let occurrences: [Fingerprint: [CrashReport.Occurrences]]
    private let times: ClosedRange<Timestamp>
    private let unit: TimeUnit?
    private let limit: Int

    /// Gathers what is shown.
    ///
    /// - Parameters:
    ///   - groups: The groups, in the order in which they are listed.
    ///   - summaries: Their reports.
    ///   - times: From when to when; from the first fault to the last if nil.
    ///   - unit: How long a bar of the chart is; as long as fits if nil.
    ///   - limit: How many groups are listed at most.
    package init(
        groups: [ReportGroup],
        summaries: [ReportSummary],
        times: ClosedRange<Timestamp>?,
        unit: TimeUnit?,
        limit: Int
    ) {
        self.groups = groups
        self.unit = unit
        self.limit = limit
        occurrences = Dictionary(grouping: summaries, by: \.fingerprint).mapValues { $0.map(\.occurrences) }
        let epoch = Timestamp(seconds: 0)
        self.times = times ?? FaultTimeline.times(of: summaries.map(\.occurrences)) ?? epoch...epoch
    }

    /// When the faults of all groups happened.
    package var timeline: FaultTimeline { timeline(in: .utc) }

    /// The same by the clocks and days of a time zone.
    private func timeline(in zone: DisplayZone) -> FaultTimeline {
        let occurrences = occurrences.values.joined().map { occurrence in
            CrashReport.Occurrences(
                count: occurrence.count,
                first: zone.civil(occurrence.first),
                last: zone.civil(occurrence.last)
            )
        }
        let (first, last) = (zone.civil(times.lowerBound), zone.civil(times.upperBound))
        // Where a clock is put back, a later time may look like an earlier one.
        return FaultTimeline(occurrences, in: first...max(first, last), unit: unit)
    }

    /// Writes the text.
    ///
    /// - Parameter layout: What it may use; the lines are made to fit the width.
    /// - Returns: Lines, without any character that controls a terminal but those for colours.
    package func text(_ layout: TextLayout = .plain) -> String {
        var output = StyledText(layout)
        let reports = occurrences.values.reduce(0) { $0 + $1.count }
        let (stalls, faults) = (count(groups.filter { $0.kind == .stall }), count(groups.filter { $0.kind != .stall }))
        let words = [
            faults > 0 || stalls == 0 ? Count.of(faults, "fault") : nil, stalls > 0 ? Count.of(stalls, "stall") : nil,
        ]
        let events = words.compactMap(\.self).joined(separator: " and ")
        let held = " in \(Count.of(reports, "report")) of \(Count.of(groups.count, "group"))"
        let span = "\(layout.zone.brief(times.lowerBound)) to \(layout.zone.stamp(times.upperBound))"
        output.add(events, .bold)
        output.add(held)
        if events.count + held.count + 2 + span.count > layout.width ?? .max {
            output.end()
        } else {
            output.add(", ")
        }
        output.end(span)
        output.end()
        addGroups(to: &output)
        addChart(to: &output)
        return output.text
    }

    private func count(_ groups: [ReportGroup]) -> Int {
        groups.reduce(0) { $0.addingClamped($1.count) }
    }

    /// What the chart counts.
    private var events: String {
        let kinds = Set(groups.map(\.kind.event))
        return kinds == ["stall"] ? "Stalls" : kinds.contains("stall") ? "Faults and stalls" : "Faults"
    }

    /// Three lines for each: when and how often, what, and where.
    private func addGroups(to output: inout StyledText) {
        let shown = groups.prefix(limit)
        let digits = shown.map { String($0.count).count }.max() ?? 0
        for group in shown {
            output.add(group.fingerprint.rawValue, .cyan)
            output.add("  " + String(group.count).leftPadded(digits), .bold)
            let fingerprint = DisplayWidth.of(output.layout.visible(group.fingerprint.rawValue))
            let room = (output.layout.width ?? .max) - fingerprint - 2 - digits - 2
            let zone = output.layout.zone
            // From `2026-11-21 06:40` to `11-21 06:40`.
            let year = room < 36 ? 5 : 0
            let times = [group.first, group.last].map { zone.brief($0).dropLast(3).dropFirst(year) }
            let span = times.joined(separator: " to ")
            output.add("  \(span)  ")
            let columns = min(Self.sparks, room - span.count - 2)
            output.end(columns < 4 ? "" : sparkline(of: group, columns, output.layout), .cyan)
            output.add("  ")
            let several = group.count > 1 ? group.longest : nil
            let longest = several.map { " (longest \(CrashReport.Stall.text(seconds: $0)))" } ?? ""
            output.add(cut(group.reason, 2 + group.verdictText.count + 2 + longest.count, output.layout), .bold)
            output.add(longest)
            output.add(": ")
            output.end(group.verdictText, group.worstVerdict.style)
            let place = "in \(group.location), \(group.processes.joined(separator: ", ")), \(Self.builds(of: group))"
            output.end("  " + cut(place, 2, output.layout), .faint)
        }
        let hidden = groups.count - shown.count
        if hidden > 0 {
            output.end("\(output.layout.gap) \(Count.of(hidden, "more group")) (--limit 0 lists them)", .faint)
        }
    }

    /// The text in what a line has left.
    private func cut(_ text: String, _ taken: Int, _ layout: TextLayout) -> String {
        layout.visible(text).cut(max(20, (layout.width ?? .max) - taken), layout.ellipsis)
    }

    private func sparkline(of group: ReportGroup, _ columns: Int, _ layout: TextLayout) -> String {
        let start = times.lowerBound.microsecondsSinceEpoch
        let length = max(1, times.upperBound.microsecondsSinceEpoch - start + 1)
        var counts = [Int](repeating: 0, count: columns)
        func index(_ time: Timestamp) -> Int {
            // Within 2^58 of zero, so a factor of 24 is no overflow.
            let sparks = Int64(columns)
            return Int(min(sparks - 1, max(0, (time.microsecondsSinceEpoch - start) * sparks / length)))
        }
        for occurrence in occurrences[group.fingerprint] ?? [] {
            let range = index(occurrence.first)...index(max(occurrence.first, occurrence.last))
            let share = max(1, occurrence.count / range.count)
            for index in range {
                counts[index] = counts[index].addingReportingOverflow(share).overflow ? .max : counts[index] + share
            }
        }
        return TextChart.sparkline(counts, layout)
    }

    /// Such as `build 8c2f0d3b (12 times), build 77aa01fe (once)`.
    private static func builds(of group: ReportGroup) -> String {
        let shown = group.versions.prefix(3).map { version in
            "\(version.buildID.map { "build \($0.prefix(8))" } ?? "Holdfast \(version.holdfast)") (\(Count.times(version.count)))"
        }
        return shown.joined(separator: ", ") + (group.versions.count > 3 ? ", \(group.versions.count - 3) more" : "")
    }

    private func addChart(to output: inout StyledText) {
        let timeline = timeline(in: output.layout.zone)
        let largest = timeline.counts.max() ?? 0
        output.heading("\(events) per \(timeline.unit.text) (\(output.layout.zone.title))")
        let isDays = timeline.unit.isOfDays
        let digits = String(largest).count
        let labelWidth = isDays ? 10 : 16
        let room = min(60, max(4, (output.layout.width ?? 100) - labelWidth - digits - 4))
        for (index, count) in timeline.counts.enumerated() {
            output.add(String(timeline.start(of: index).brief.prefix(labelWidth)) + "  ", .faint)
            output.add(String(count).leftPadded(digits) + "  ")
            output.end(TextChart.bar(count, of: largest, width: room, output.layout), .cyan)
        }
    }
}
