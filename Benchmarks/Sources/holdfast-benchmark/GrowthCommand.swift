import ArgumentParser
import FoundationEssentials

/// Measures how the cost of an operation grows with how much a loop holds.
struct GrowthCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "growth",
        abstract: "Measures how the cost of an operation grows with how much a loop holds.",
        discussion: "Documentation/Benchmarks.md describes the rows."
    )

    @OptionGroup var programs: LoopPrograms

    @Option(help: "How much a loop holds at most: a power of ten.")
    var most = 1_000_000

    @Option(help: "Write a file of columns for each kind of operation into this folder, for gnuplot.")
    var data: String?

    @Option(help: "Write the rows as JSON to this file, too.")
    var json: String?

    func validate() throws {
        guard sizes.last == most else { throw ValidationError("--most takes a power of ten from 10 to 1000000.") }
    }

    /// 10, 100 and so on.
    private var sizes: [Int] {
        Array(sequence(first: 10) { $0 < min(most, 1_000_000) ? $0 * 10 : nil })
    }

    func run() throws {
        var all = Table(columns: LoopPrograms.peerNames)
        for kind in LoopRows.growing {
            var table = Table(columns: LoopPrograms.peerNames)
            var benchmark = programs.benchmark(quick: true)
            for size in sizes {
                benchmark.measure(kind.group(size), into: &table)
                // What was too much for a loop once is not tried with more.
                for peer in table.rows.last?.peers ?? [] where peer.value == nil { benchmark.leaveOut(peer.name) }
            }
            for row in table.rows { all.add(row) }
            for note in table.notes { all.add(note: note) }
            if let data { try write(table.rows, to: "\(data)/\(kind.program).data") }
        }
        Progress.end()
        print(all.text)
        if let json { try all.write(to: json) }
    }

    /// A line for each size, with a column for each loop; `?` where it was not measured.
    private func write(_ rows: [Row], to path: String) throws {
        let lines = zip(sizes, rows).map { size, row in
            let peers = LoopPrograms.peerNames.map { name in row.peers.first { $0.name == name }?.value ?? nil }
            let values = ([row.value] + peers).map { $0.map { "\($0)" } ?? "?" }
            return ([String(size)] + values).joined(separator: " ") + "\n"
        }
        try Data(lines.joined().utf8).write(to: URL(filePath: path), options: .atomic)
    }
}

/// The programs that measure loops, and where they run.
struct LoopPrograms: ParsableArguments {
    static let peerNames = ["cfrunloop", "libuv", "glib", "epoll"]

    @Option(help: "The folder of holdfast-agent and run-loop-benchmark.")
    var products: String

    @Option(help: "The folder of the programs that measure other loops.")
    var peers: String

    @Option(help: "The CPU that everything is pinned to.")
    var cpu: String

    @Option(help: "Two CPUs for the rows that need them, separated by a comma.")
    var twoCpus: String

    /// What measures them.
    func benchmark(quick: Bool, _ filter: RowFilter = RowFilter(nil)) -> LoopBenchmark {
        LoopBenchmark(
            holdfast: LoopProgram(name: "holdfast", path: products + "/run-loop-benchmark"),
            peers: Self.peerNames.map { name in
                LoopProgram(name: name, path: peers + "/" + name) { LoopRows.has(name, $0) }
            },
            quick: quick,
            cpu: cpu,
            twoCPUs: twoCpus,
            filter: filter
        )
    }
}
