import ArgumentParser
import CrashReports
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

    @Option(
        help: ArgumentHelp(
            "The order: newest, oldest, count, process or reason; with --group latest, earliest or count.",
            valueName: "order"
        ),
        completion: .list(["newest", "oldest", "count", "process", "reason", "latest", "earliest"])
    )
    var sort: String?

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
        if group {
            _ = try Self.order(sort, as: ReportGroupOrder.self, else: .latestFirst)
        } else {
            _ = try Self.order(sort, as: ReportOrder.self, else: .newestFirst)
        }
    }

    func run() throws {
        let store: ReportStore
        do {
            store = try options.openFinished()
        } catch {
            throw Failure.exit(for: error)
        }
        if group { try listGroups(of: store) } else { try listReports(of: store) }
    }

    private func listReports(of store: ReportStore) throws {
        let order = try Self.order(sort, as: ReportOrder.self, else: .newestFirst)
        let listing = try Self.reading { progress throws(ReportStoreError) in
            try store.summaries(matching: filter.filter, order: order, limit: oneMore, progress: progress)
        }
        try write(listing.summaries, listing.problems, of: store) { ReportTable($0).text($1) }
    }

    private func listGroups(of store: ReportStore) throws {
        let order = try Self.order(sort, as: ReportGroupOrder.self, else: .latestFirst)
        let listing = try Self.reading { progress throws(ReportStoreError) in
            try store.groups(matching: filter.filter, order: order, limit: oneMore, progress: progress)
        }
        try write(listing.groups, listing.problems, of: store) { GroupTable($0).text($1) }
    }

    /// One more than are listed tells whether there are more.
    private var oneMore: Int? { limit == 0 || limit == .max ? nil : limit + 1 }

    private static func reading<Listing>(
        _ body: (@escaping (Int, Int) -> Void) throws(ReportStoreError) -> Listing
    ) throws -> Listing {
        let progress = Progress("reading reports")
        defer { progress.end() }
        do {
            return try body { progress.update(done: $0, total: $1) }
        } catch {
            progress.end()
            throw Failure.exit(for: error)
        }
    }

    private func write<Item: Encodable>(
        _ found: [Item],
        _ problems: [ReportStoreError],
        of store: ReportStore,
        table: ([Item], TextLayout) -> String
    ) throws {
        for problem in problems { Output.complain(problem.description) }
        let items = limit == 0 ? found : Array(found.prefix(limit))
        if json {
            try Output.write(bytes: try Failure.jsonBytes(of: items))
        } else if jsonLines {
            var bytes: [UInt8] = []
            for item in items {
                bytes += try JSONText.line(item)
                guard bytes.count >= 1 << 16 else { continue }
                try Output.write(bytes: bytes)
                bytes.removeAll(keepingCapacity: true)
            }
            try Output.write(bytes: bytes)
        } else if !items.isEmpty {
            let layout = Terminal.layout(in: filter.times.zone)
            // For people only: a program reads lines of the table.
            let hint = found.count > items.count && layout.width != nil ? "There are more: --limit 0 lists all.\n" : ""
            try Output.page(table(items, layout) + hint, pager)
        }
        guard items.isEmpty else { return }
        throw Failure.nothing(in: store, problems, filter.filter)
    }

    private static func order<Order: RawRepresentable & CaseIterable>(
        _ text: String?,
        as type: Order.Type,
        else standard: Order
    ) throws -> Order where Order.RawValue == String {
        guard let text else { return standard }
        if let order = Order(rawValue: text.lowercased()) { return order }
        let names = Order.allCases.map(\.rawValue)
        let hint = Spelling.hint(for: text, among: names)
        throw ValidationError("The order '\(text)' is none of \(names.joined(separator: ", "))\(hint)")
    }
}
