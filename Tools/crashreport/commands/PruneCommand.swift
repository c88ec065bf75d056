import ArgumentParser
import CrashReports
import ReportText

/// Removes reports that there is no room for.
struct PruneCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Remove reports beyond some limits.",
        discussion: """
            Files that are no readable reports go first, but for reports of newer versions. Then duplicates go, the oldest before \
            the others: the first and the last report of each group stay as long as there is another to remove. Without a limit, those that agents keep by themselves are taken: 1,000 reports, \
            256 MiB, 90 days.

            EXAMPLES:
              crashreport prune --dry-run              what would be removed
              crashreport prune --older-than 30d
              crashreport prune --keep 200 --max-bytes 50M
            """
    )

    @OptionGroup
    var options: StoreOptions

    @Option(help: ArgumentHelp("How many reports may stay.", valueName: "n"))
    var keep: Int?

    @Option(
        help: ArgumentHelp("Remove what did not happen again for so long, such as 30d or 12h.", valueName: "age"),
        transform: PruneCommand.age
    )
    var olderThan: Duration?

    @Option(
        help: ArgumentHelp("How many bytes all reports may have, such as 50M or 1GiB.", valueName: "bytes"),
        transform: PruneCommand.size
    )
    var maxBytes: Int?

    @Flag(name: [.customShort("n"), .long], help: "Only say what would be removed.")
    var dryRun = false

    @Flag(help: "Print what was removed as JSON.")
    var json = false

    func validate() throws {
        if let keep, keep < 0 { throw ValidationError("The number of reports to keep must not be negative.") }
    }

    func run() throws {
        let store = try options.openExisting()
        options.finish(store)
        let given = ReportStore.Limits(reports: keep, bytes: maxBytes, age: olderThan)
        // Without any limit, those of agents: nobody types prune to have nothing removed.
        let limits = given == .unlimited ? ReportStore.Limits.default : given
        let outcome = try Progress.shown("reading reports") { progress in
            try store.prune(limits, dryRun: dryRun) { progress.update(done: $0, total: $1) }
        }
        for problem in outcome.problems { Output.complain(problem.description) }
        if json {
            try Output.write(bytes: try JSONText.encode(PruneAnswer(outcome, isDryRun: dryRun)))
        } else {
            try Output.write(Self.text(of: outcome, isDryRun: dryRun))
        }
        if !outcome.problems.isEmpty { throw ExitStatus.cannotChange }
    }

    /// A length of time, as a user types it.
    private static func age(_ text: String) throws -> Duration {
        if let seconds = TimeExpression.seconds(text), seconds < 1e11 { return .seconds(seconds) }
        throw ValidationError("a length of time is such as 30d, 12h or 1w3d")
    }

    /// A number of bytes, as a user types it.
    private static func size(_ text: String) throws -> Int {
        if let bytes = ByteCount.bytes(text) { return bytes }
        throw ValidationError("a number of bytes is such as 50M, 1GiB or 1000000")
    }

    private static func text(of outcome: PruneOutcome, isDryRun: Bool) -> String {
        let lines = outcome.removed.map { removal in
            let cause =
                switch removal.cause {
                case .unreadable: "not a readable report"
                case .duplicate: "a duplicate"
                case .tooOld: "too old"
                case .oldestGroup: "of the group that was seen last the longest ago"
                }
            return "\(removal.id)  \(ByteCount(removal.bytes).text), \(cause)\n"
        }
        let verb = isDryRun ? "would be removed" : "removed"
        let removed = "\(outcome.removed.count) \(verb) (\(ByteCount(outcome.removedBytes).text))"
        return lines.joined() + "\(removed), \(outcome.keptReports) kept (\(ByteCount(outcome.keptBytes).text))\n"
    }
}

/// What `prune --json` prints.
private struct PruneAnswer: Encodable {
    struct Removal: Encodable {
        var id: ReportID
        var bytes: Int
        var cause: String
    }

    var dryRun: Bool
    var removed: [Removal]
    var removedBytes: Int
    var keptReports: Int
    var keptBytes: Int
    var problems: [String]

    init(_ outcome: PruneOutcome, isDryRun: Bool) {
        dryRun = isDryRun
        removed = outcome.removed.map { Removal(id: $0.id, bytes: $0.bytes, cause: $0.cause.rawValue) }
        removedBytes = outcome.removedBytes
        keptReports = outcome.keptReports
        keptBytes = outcome.keptBytes
        problems = outcome.problems.map(\.description)
    }
}
