import ArgumentParser
import CrashReports
import Glibc
import ReportText

/// Follows a store.
struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print a line for every fault and every stall as it happens.",
        discussion: """
            Goes on until it is interrupted (Ctrl-C) or nobody reads its output any more. The store need not exist yet. A \
            report that is counted up is printed again, once per look at the store at most.

            EXAMPLES:
              crashreport watch
              crashreport watch --last 10 --process mail-agent
              crashreport watch --json-lines | while read -r line; do notify "$line"; done
            """
    )

    @OptionGroup
    var options: StoreOptions

    @OptionGroup(title: "Filters")
    var filter: FilterOptions

    @Option(help: ArgumentHelp("Begin with so many of the reports that are there.", valueName: "n"))
    var last = 0

    @Flag(help: "Print a JSON object per line for programs.")
    var jsonLines = false

    func validate() throws {
        if last < 0 { throw ValidationError("The number of reports to begin with must not be negative.") }
    }

    func run() throws {
        let store = try options.open()
        var follower = StoreFollower(store: store)
        _ = try follower.next()
        if !follower.hasStore { Output.complain("there is no store at \(store.path) yet: waiting for it") }
        if last > 0 {
            let listing = try? store.summaries(matching: filter.filter, limit: last)
            for problem in listing?.problems ?? [] { follower.complain(problem.description) }
            for summary in (listing?.summaries ?? []).reversed() { try write(summary) }
        }
        while Self.isReaderThere(within: 250) {
            let new: [ReportID]
            do {
                new = try follower.next()
            } catch {
                guard ![.symbolicLink, .foreignOwner, .wrongKind].contains(error.code) else { throw error }
                // It may pass.
                follower.complain(error.description)
                continue
            }
            for id in new {
                do {
                    let report = try store.load(id)
                    guard filter.filter.matches(report) else { continue }
                    try write(ReportSummary(report, in: store))
                } catch let error as ReportStoreError {
                    // Removed since: there is nothing wrong with that.
                    if error.code != .noSuchReport { follower.complain(error.description) }
                }
            }
        }
    }

    private func write(_ summary: ReportSummary) throws {
        if jsonLines { return try Output.write(bytes: try JSONText.line(summary)) }
        try Output.write(ReportLine(summary).text(Terminal.layout(in: filter.times.zone)))
    }

    /// Waits, unless nobody can read the output any more.
    private static func isReaderThere(within milliseconds: CInt) -> Bool {
        // Without an event asked for, poll(2) tells only of the end of the other side.
        var descriptor = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return unsafe poll(&descriptor, 1, milliseconds) <= 0
    }
}
