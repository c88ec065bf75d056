import ArgumentParser
import CrashReports
import ReportText

/// Compares two reports.
struct DiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show what differs between two reports, and whether they have the same cause.",
        discussion: """
            What begins with - is the first report's, what begins with + the second's. Times and process identifiers are not \
            compared, and what differs from one run to the next, as addresses and the numbers of clients do, is not shown; \
            the JSON has that as "circumstances". The exit status does not tell whether they differ; "isSameGroup" of the JSON does.

            EXAMPLES:
              crashreport diff 01a1fcd57d5b last
              crashreport diff before.json after.json
              crashreport diff 01a1fcd57d5b last --json | jq .isSameGroup
            """
    )

    @Argument(
        help: ArgumentHelp("A report, named as for \"show\".", valueName: "a"),
        completion: .custom(Completions.reports)
    )
    var first: String

    @Argument(help: ArgumentHelp("Another report.", valueName: "b"), completion: .custom(Completions.reports))
    var second: String

    @OptionGroup
    var options: StoreOptions

    @Flag(help: "Print JSON for programs.")
    var json = false

    @OptionGroup
    var times: TimeOptions

    @OptionGroup
    var pager: PagerOptions

    func run() throws {
        let first = try ReportReference(first).load(options)
        let second = try ReportReference(second).load(options)
        if json { return try Output.write(bytes: try JSONText.encode(ReportComparison(first, second))) }
        try Output.page(ComparisonText(first, second).text(Terminal.layout(in: times.zone)), pager)
    }
}
