import ArgumentParser
import CrashReports
import ReportExports
import SystemPackage

/// Writes the store as a page of HTML.
struct HTMLReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Write a page with a timeline, the causes, and the newest reports of each.",
        discussion: """
            The page is one file that needs no other, no network and no script.

            EXAMPLES:
              crashreport report --html crashes.html
              crashreport report --html today.html --since today
              crashreport report --html - --per-cause 1 > crashes.html
            """
    )

    @OptionGroup
    var options: StoreOptions

    @OptionGroup(title: "Filters")
    var filter: FilterOptions

    @Option(help: ArgumentHelp("The file to write; - is the standard output.", valueName: "file"), completion: .file())
    var html: String

    @Option(help: ArgumentHelp("How many reports of each cause to show in full.", valueName: "n"))
    var perCause = HTMLReportPage.Limits().reportsPerGroup

    func validate() throws {
        if html.isEmpty { throw ValidationError("The file must not be empty; - is the standard output.") }
        if !(0...1000).contains(perCause) { throw ValidationError("--per-cause is a number from 0 to 1000.") }
    }

    func run() throws {
        let found = try FoundReports(options, filter.filter)
        try found.requireSome()
        var limits = HTMLReportPage.Limits()
        limits.reportsPerGroup = perCause
        let origin = found.store.path.string
        let page = HTMLReportPage(found.summaries, origin: origin, limits: limits, zone: filter.times.zone)
        let text = page.html { read($0, of: found.store) }
        try OutputFile(html).write(Array(text.utf8))
    }

    /// One report that cannot be read does not keep the others from being shown.
    private func read(_ id: ReportID, of store: ReportStore) -> CrashReport? {
        do {
            return try store.load(id)
        } catch {
            Output.complain(error.description)
            return nil
        }
    }
}
