import ArgumentParser
import CrashReports

/// Says where the store or a report is.
struct PathCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "path",
        abstract: "Print the path of the store, or of a report.",
        discussion: """
            The path of a store is printed whether or not it exists.

            EXAMPLES:
              du -sh "$(crashreport path)"
              mail -A "$(crashreport path last)" -s crash team@example.com
            """
    )

    @Argument(
        help: ArgumentHelp("The report, named as for \"show\"; the store without one.", valueName: "id"),
        completion: .custom(Completions.reports)
    )
    var id: String?

    @OptionGroup
    var options: StoreOptions

    func run() throws {
        if let id { return try Output.write("\(try ReportReference(id).path(options))\n") }
        try Output.write("\(try options.open().path)\n")
    }
}
