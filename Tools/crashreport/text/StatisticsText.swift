package import CrashReports

/// How often, since when and in which versions, as text for people.
package struct StatisticsText {
    private let groups: [ReportGroup]
    private let occurrences: [CrashReport.Occurrences]
    private let times: ClosedRange<Timestamp>
    private let unit: TimeUnit?
    private let limit: Int

    /// Gathers what is shown.
    ///
    /// - Parameters:
    ///   - groups: The groups, in the order in which they are listed.
    ///   - summaries: Their reports.
    ///   - since: From when; from the first fault on if nil.
    ///   - until: Until when; until the last fault if nil.
    ///   - unit: How long a bar of the chart is; as long as fits if nil.
    ///   - limit: How many groups are listed at most.
    package init(
        groups: [ReportGroup],
        summaries: [ReportSummary],
        since: Timestamp?,
        until: Timestamp?,
        unit: TimeUnit?,
        limit: Int
    ) {
        self.groups = groups
        self.unit = unit
        self.limit = limit
        occurrences = summaries.map(\.occurrences)
        let first = since ?? occurrences.map(\.first).min() ?? Timestamp(seconds: 0)
        times = first...max(first, until ?? occurrences.map(\.last).max() ?? first)
    }

    /// When the faults of all groups happened.
    package var timeline: FaultTimeline { timeline(in: .utc) }

    /// The same by the clocks and days of a time zone.
    private func timeline(in zone: DisplayZone) -> FaultTimeline {
        let occurrences = occurrences.map { occurrence in
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
        let stalls = count(groups.filter { $0.kind == .stall })
        let orderly = count(groups.filter(\.isOrderlyEnd))
        let faults = count(groups) - stalls - orderly
        let words = [
            faults > 0 || stalls + orderly == 0 ? Count.of(faults, "fault") : nil,
            stalls > 0 ? Count.of(stalls, "stall") : nil,
            orderly > 0 ? Count.of(orderly, "orderly end") : nil,
        ]
        let events = words.compactMap(\.self).joined(separator: " and ")
        let held = " in \(Count.of(occurrences.count, "report")) of \(Count.of(groups.count, "group"))"
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
        GroupTable(Array(groups.prefix(limit))).write(to: &output)
        if groups.count > limit {
            let hidden = Count.of(groups.count - limit, "more group")
            output.end("\(layout.gap) \(hidden) (--limit 0 lists them)", .faint)
        }
        addChart(to: &output)
        return output.text
    }

    private func count(_ groups: [ReportGroup]) -> Int { groups.reduce(0) { $0.addingClamped($1.count) } }

    private var events: String {
        let kinds = Set(groups.map(\.kind.event))
        if kinds == ["stall"] { return "Stalls" }
        if groups.allSatisfy(\.isOrderlyEnd) { return "Ends" }
        return kinds.contains("stall") ? "Faults and stalls" : "Faults"
    }

    private func addChart(to output: inout StyledText) {
        let timeline = timeline(in: output.layout.zone)
        output.heading("\(events) per \(timeline.stretch) (\(output.layout.zone.title))")
        let labelWidth = timeline.isOfDays ? 10 : 16
        let lines = timeline.counts.enumerated().map { index, count in
            (label: String(timeline.start(of: index).brief.prefix(labelWidth)), count: count)
        }
        output.chart(lines, widest: 60)
    }
}

extension ReportGroup {
    /// Whether its reports tell of ends that somebody wanted.
    fileprivate var isOrderlyEnd: Bool { kind == .death && CrashReport.Death.isOrderly(reason) }
}
