import ArgumentParser

/// Everything that is measured rather than tested.
@main
struct HoldfastBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "holdfast-benchmark",
        abstract: "Measures the run loop, recovery, the store of reports and the watch for stalls.",
        subcommands: [
            CompareCommand.self, GrowthCommand.self, ReportsCommand.self, SoakCommand.self, StallsCommand.self,
        ],
        defaultSubcommand: CompareCommand.self
    )
}
