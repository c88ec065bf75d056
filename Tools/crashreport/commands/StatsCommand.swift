import ArgumentParser
import CrashReports
import ReportText

/// Says how often, since when and in which versions.
struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show how often each fault or stall happened, since when, and in which versions.",
        discussion: """
            A group is what faults of the same cause have in common; its fingerprint is an identifier for "show". A report \
            that counts several faults has them spread evenly from its first to its last. Builds are the start of the build \
            identifier of the executable, with how often.

            EXAMPLES:
              crashreport stats --since 7d
              crashreport stats --process mail-agent --per hour --since yesterday
              crashreport stats --json | jq '.groups[0]'
            """
    )

    @OptionGroup
    var options: StoreOptions

    @OptionGroup(title: "Filters")
    var filter: FilterOptions

    @Option(
        help: ArgumentHelp(
            """
            How much time a bar of the chart stands for: minute, ten-minutes, hour, day, week, year, decade, century or \
            millennium; what fits without it.
            """,
            valueName: "unit"
        ),
        completion: .list(TimeUnit.allCases.map(\.rawValue)),
        transform: UnitChoice.init(text:)
    )
    var per: UnitChoice?

    @Option(help: ArgumentHelp("How many groups to list at most; 0 for all.", valueName: "n"))
    var limit = 20

    @Flag(help: "Print JSON for programs.")
    var json = false

    @OptionGroup
    var pager: PagerOptions

    func validate() throws {
        if limit < 0 { throw ValidationError("The limit must not be negative.") }
    }

    func run() throws {
        let reports = try FoundReports(options, filter.filter)
        let groups: ReportGroupListing
        do {
            groups = try reports.store.groups(matching: filter.filter, order: .mostFrequentFirst)
        } catch {
            throw Failure.exit(for: error)
        }
        let text = StatisticsText(
            groups: groups.groups,
            summaries: reports.summaries,
            times: times(of: reports.summaries),
            unit: per?.unit,
            limit: limit == 0 ? .max : limit
        )
        let timeline = text.timeline
        if let unit = per?.unit, unit != timeline.unit {
            let most = FaultTimeline.mostStretchesAskedFor
            let taken = timeline.unit.rawValue
            Output.complain("a bar per \(unit.rawValue) makes more than \(most): one per \(taken) instead")
        }
        if json {
            try Output.write(bytes: try Failure.jsonBytes(of: StatsAnswer(groups.groups, timeline)))
        } else if !reports.summaries.isEmpty {
            try Output.page(text.text(Terminal.layout(in: filter.times.zone)), pager)
        }
        try reports.requireSome()
    }

    /// What was asked for, as far as it was.
    private func times(of summaries: [ReportSummary]) -> ClosedRange<Timestamp>? {
        guard let first = filter.since?.time(in: filter.times.zone) ?? summaries.map(\.occurrences.first).min(),
            let last = filter.until?.time(in: filter.times.zone) ?? summaries.map(\.occurrences.last).max()
        else { return nil }
        return first...max(first, last)
    }
}

/// A unit of time, as a user types it.
struct UnitChoice {
    let unit: TimeUnit

    init(text: String) throws {
        guard let unit = TimeUnit(rawValue: text.lowercased()) else {
            let names = TimeUnit.allCases.map(\.rawValue)
            throw ValidationError(
                "it is one of \(names.joined(separator: ", "))" + Spelling.hint(for: text, among: names)
            )
        }
        self.unit = unit
    }
}

/// What `stats --json` prints.
private struct StatsAnswer: Encodable {
    struct Stretch: Encodable {
        var start: Timestamp
        var count: Int
    }

    var unit: TimeUnit
    var timeline: [Stretch]
    var groups: [ReportGroup]

    init(_ groups: [ReportGroup], _ timeline: FaultTimeline) {
        self.groups = groups
        unit = timeline.unit
        self.timeline = timeline.counts.indices.map {
            Stretch(start: timeline.start(of: $0), count: timeline.counts[$0])
        }
    }
}
