import ArgumentParser
import Glibc

/// Measures what recovery costs, against what it replaces, in one run.
@main
struct HoldfastBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "holdfast-benchmark",
        abstract: "Measures what recovery costs, against what it replaces.",
        discussion:
            "Lower is better in every row. Times are medians; the ratio is that of the row to its peer in the same run."
    )

    @Option(help: "The agent whose restart is measured.")
    var agent: String

    @Option(help: "Write the rows as JSON to this file, too.")
    var json: String?

    @Flag(help: "Fewer rounds: under ten seconds.")
    var quick = false

    func run() throws {
        var rows = RecoveryPointBenchmark(rounds: quick ? 5 : 15).rows()
        let restarts = try RestartBenchmark(agent: agent, rounds: quick ? 10 : 40).measure()
        let faults = try MainActor.assumeIsolated { try FaultBenchmark(rounds: quick ? 200 : 2000).measure() }
        rows += FaultBenchmark.rows(faults, restarts)
        print(Table.text(rows))
        if let json { try Table.write(rows, to: json) }
        // The host's handlers stay in place to the end; nothing after this may fault.
        Glibc.exit(0)
    }
}
