public import ArgumentParser
public import CrashReports
import ReportText

/// Lists the reports.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the reports, the newest first.",
        discussion: """
            EXAMPLES:
              crashreport list                              the newest 50 reports
              crashreport list --since 2h                   of the last two hours
              crashreport list --since yesterday --until today
              crashreport list --process mail-agent --signal SEGV
              crashreport list --verdict restart --limit 0  all that ended a process
              crashreport list --kind stall                 what did not go on
              crashreport list --host mx1 --pid 4711        of one process
              crashreport list --since 06:40 --local        by this machine's clock
              crashreport list --group --sort count         a line per bug
              crashreport list --json-lines | jq -r .reason
            """
    )

    @OptionGroup
    var options: StoreOptions

    @OptionGroup(title: "Filters")
    var filter: FilterOptions

    @Flag(help: "List groups of reports with the same cause.")
    var group = false

    @Option(help: ArgumentHelp("The order.", valueName: "order"))
    var sort = ReportOrder.newestFirst

    @Option(help: ArgumentHelp("How many to list at most; 0 for all.", valueName: "n"))
    var limit = 50

    @Flag(help: "Print a JSON array for programs instead of a table.")
    var json = false

    @Flag(help: "Print a JSON object per line for programs instead of a table.")
    var jsonLines = false

    @OptionGroup
    var pager: PagerOptions

    func validate() throws {
        if limit < 0 { throw ValidationError("The limit must not be negative.") }
        if json, jsonLines { throw ValidationError("--json and --json-lines exclude each other.") }
    }

    func run() throws {
        let store = try options.openFinished()
        let filter = filter.filter
        if group {
            let listing = try Progress.shown("reading reports") { progress in
                try store.groups(matching: filter, order: sort, limit: oneMore) { progress.update(done: $0, total: $1) }
            }
            try write(listing.groups, listing.problems, of: store) { GroupTable($0).text($1) }
        } else {
            let listing = try Progress.shown("reading reports") { progress in
                try store.summaries(matching: filter, order: sort, limit: oneMore) {
                    progress.update(done: $0, total: $1)
                }
            }
            try write(listing.summaries, listing.problems, of: store) { ReportTable($0).text($1) }
        }
    }

    /// One more than are listed tells whether there are more.
    private var oneMore: Int? { limit == 0 || limit == .max ? nil : limit + 1 }

    private func write<Item: Encodable>(
        _ found: [Item],
        _ problems: [ReportStoreError],
        of store: ReportStore,
        table: ([Item], TextLayout) -> String
    ) throws {
        for problem in problems { Output.complain(problem.description) }
        let items = limit == 0 ? found : Array(found.prefix(limit))
        if json {
            try Output.write(bytes: try JSONText.encode(items))
        } else if jsonLines {
            for start in stride(from: 0, to: items.count, by: 100) {
                let some = items[start..<min(start + 100, items.count)]
                try Output.write(bytes: try some.flatMap { try JSONText.line($0) })
            }
        } else if !items.isEmpty {
            let layout = Terminal.layout(in: filter.times.zone)
            // For people only: a program reads lines of the table.
            let hint = found.count > items.count && layout.width != nil ? "There are more: --limit 0 lists all.\n" : ""
            try Output.page(table(items, layout) + hint, pager)
        }
        guard items.isEmpty else { return }
        throw ExitStatus.nothing(in: store, problems, filter.filter)
    }
}

extension ReportOrder: ExpressibleByArgument {}
