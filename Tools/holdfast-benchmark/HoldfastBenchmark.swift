import ArgumentParser

/// Everything that is measured rather than tested.
@main
struct HoldfastBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "holdfast-benchmark",
        abstract: "Measures the run loop, recovery and the store of reports.",
        subcommands: [CompareCommand.self, ReportsCommand.self, SoakCommand.self],
        defaultSubcommand: CompareCommand.self
    )
}
