import ArgumentParser
import Glibc

/// Measures what it costs to watch loops, and how soon a stall is told.
struct StallsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stalls",
        abstract: "Measures what it costs to watch loops for stalls.",
        discussion: """
            Lower is better in every row. Values are medians; where a peer is "not watched", it is the same loop in the same run, \
            in turns.
            """
    )

    @Option(help: "How often each way is measured.")
    var rounds = 41

    @Option(help: "How many stalls are made.")
    var stalls = 50

    @Option(help: "Write the rows as JSON to this file, too.")
    var json: String?

    func validate() throws {
        guard rounds > 0, stalls > 0 else { throw ValidationError("--rounds and --stalls take a number above 0.") }
    }

    func run() throws {
        let benchmark = StallBenchmark(rounds: rounds, stalls: stalls)
        var table = Table(columns: [])
        for row in try benchmark.rows() { table.add(row) }
        for row in try MainActor.assumeIsolated({ try StallReportBenchmark(stalls: stalls).rows() }) { table.add(row) }
        Progress.end()
        print(table.text)
        if let json { try table.write(to: json) }
    }
}
