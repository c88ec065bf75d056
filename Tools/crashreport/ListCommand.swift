import ArgumentParser
import CrashReports

/// Lists the reports, the newest first.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the reports, the newest first.",
        discussion: """
            EXAMPLES:
              crashreport list --limit 5
              crashreport list --json --store /var/lib/agent
            """
    )

    @OptionGroup
    var options: StoreOptions

    @Flag(help: "Print a JSON array for programs instead of a table.")
    var json = false

    @Option(help: ArgumentHelp("How many reports to list at most; 0 for all.", valueName: "n"))
    var limit = 50

    func validate() throws {
        if limit < 0 { throw ValidationError("The limit must not be negative.") }
    }

    func run() throws {
        let store: ReportStore
        let listing: ReportListing
        do {
            store = try options.openFinished()
            listing = try store.summaries(limit: limit == 0 ? nil : limit)
        } catch {
            throw Failure.exit(for: error)
        }
        for problem in listing.problems { Output.complain(problem.description) }
        let summaries = listing.summaries
        if json {
            try Output.write(bytes: try Failure.jsonBytes(of: summaries))
        } else if !summaries.isEmpty {
            let terminal = Terminal.standardOutput
            try Output.write(ReportTable(summaries).text(width: terminal.width, usesColor: terminal.usesColor))
        }
        guard summaries.isEmpty else { return }
        guard listing.problems.isEmpty else { throw ExitStatus.damaged }
        throw Failure.noReports(in: store)
    }
}
