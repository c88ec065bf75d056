import ArgumentParser

/// Everything that is measured rather than tested.
@main
struct HoldfastBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "holdfast-benchmark",
        abstract: "Measures the run loop and recovery.",
        subcommands: [CompareCommand.self, SoakCommand.self],
        defaultSubcommand: CompareCommand.self
    )
}
