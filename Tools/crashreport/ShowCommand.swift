import ArgumentParser
import CrashReports

/// Shows one report.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one report.",
        discussion: """
            EXAMPLES:
              crashreport show last
              crashreport show 01a1fcd57d5b --json
            """
    )

    @Argument(help: ArgumentHelp("The first digits of the report's identifier, or \"last\".", valueName: "id"))
    var id: String

    @OptionGroup
    var options: StoreOptions

    @Flag(help: "Print the report as JSON.")
    var json = false

    func run() throws {
        let store: ReportStore
        let report: CrashReport?
        do {
            store = try options.openFinished()
            report = id == "last" ? try store.last() : try store.load(prefix: id)
        } catch {
            throw Failure.exit(for: error)
        }
        guard let report else { throw Failure.noReports(in: store) }
        if json {
            try Output.write(bytes: try Failure.jsonBytes(of: report))
        } else {
            let text = ReportText(report).text(usesColor: Terminal.standardOutput.usesColor) { path, line in
                SourceExcerpt(path: path, line: line, context: 1)
            }
            try Output.write(text)
        }
    }
}
