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
        help: ArgumentHelp("How much time a bar of the chart stands for; what fits without it.", valueName: "unit")
    )
    var per: TimeUnit?

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
        let groups = try reports.store.groups(matching: filter.filter, order: .mostFrequentFirst).groups
        let text = StatisticsText(
            groups: groups,
            summaries: reports.summaries,
            since: filter.since?.time(in: filter.times.zone),
            until: filter.until?.time(in: filter.times.zone),
            unit: per,
            limit: limit == 0 ? .max : limit
        )
        let timeline = text.timeline
        if let per, per != timeline.unit {
            let most = FaultTimeline.mostStretchesAskedFor
            Output.complain("a bar per \(per.rawValue) makes more than \(most): one per \(timeline.stretch) instead")
        }
        if json {
            try Output.write(bytes: try JSONText.encode(StatsAnswer(groups, timeline)))
        } else if !reports.summaries.isEmpty {
            try Output.page(text.text(Terminal.layout(in: filter.times.zone)), pager)
        }
        // After the answer: what reads JSON gets one without groups, too.
        try reports.requireSome()
    }
}

extension TimeUnit: ExpressibleByArgument {}

/// What `stats --json` prints.
private struct StatsAnswer: Encodable {
    struct Stretch: Encodable {
        var start: Timestamp
        var count: Int
    }

    var unit: String
    var timeline: [Stretch]
    var groups: [ReportGroup]

    init(_ groups: [ReportGroup], _ timeline: FaultTimeline) {
        self.groups = groups
        unit = timeline.stretch
        self.timeline = timeline.counts.indices.map {
            Stretch(start: timeline.start(of: $0), count: timeline.counts[$0])
        }
    }
}
