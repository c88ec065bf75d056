import ArgumentParser
import Glibc

/// Measures the run loop against others, and what recovery costs against what it replaces, in one run.
struct CompareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Measures the run loop against others, and recovery against what it replaces.",
        discussion: """
            Lower is better in every row. Values are medians; the number in brackets says how many times Holdfast's value \
            a peer's is, in the same run. Documentation/Benchmarks.md describes the rows.
            """
    )

    @OptionGroup var programs: LoopPrograms

    @Option(help: "Write the rows as JSON to this file, too.")
    var json: String?

    @Option(help: "Only rows with this in their names, in any case: a part of it, or a regular expression.")
    var only: String?

    @Flag(help: "Fewer and shorter measurements: less than a minute.")
    var quick = false

    func run() throws {
        let filter = RowFilter(only)
        var table = Table(columns: LoopPrograms.peerNames)
        programs.benchmark(quick: quick, filter).measure(into: &table)
        try measureRecovery(filter, into: &table)
        MainActor.assumeIsolated { BenchmarkHost.end() }
        Progress.end()
        guard !table.rows.isEmpty else { throw ValidationError("no row has \(only ?? "") in its name") }
        print(table.text)
        if let json { try table.write(to: json) }
        // The host's handlers stay in place to the end; nothing after this may fault.
        Glibc.exit(0)
    }

    private func measureRecovery(_ filter: RowFilter, into table: inout Table) throws {
        if RecoveryPointBenchmark.names.contains(where: filter.wants) {
            Progress.say("recovery points")
            for row in RecoveryPointBenchmark(rounds: quick ? 5 : 15).rows() where filter.wants(row.name) {
                table.add(row)
            }
        }
        if BoundaryBenchmark.names.contains(where: filter.wants) {
            Progress.say("fault boundaries")
            let program = LoopProgram(name: "holdfast", path: programs.products + "/boundary-benchmark")
            let benchmark = BoundaryBenchmark(program: program, quick: quick, cpu: programs.cpu)
            for row in try benchmark.rows() where filter.wants(row.name) { table.add(row) }
        }
        if ServingBenchmark.names.contains(where: filter.wants) {
            for row in try servingRows(filter) where filter.wants(row.name) { table.add(row) }
        }
        // First of those in this process: before a host has handlers.
        if FaultBenchmark.names.contains(where: filter.wants) {
            for row in try faultRows() where filter.wants(row.name) { table.add(row) }
        }
        if ReportBenchmark.names.contains(where: filter.wants) {
            Progress.say("reports")
            let benchmark = ReportBenchmark(agent: programs.products + "/holdfast-agent", rounds: quick ? 50 : 200)
            let result = try MainActor.assumeIsolated { try benchmark.measure() }
            for row in ReportBenchmark.rows(result) where filter.wants(row.name) { table.add(row) }
        }
    }

    private func faultRows() throws -> [Row] {
        Progress.say("signals")
        let jump = JumpBenchmark(rounds: quick ? 200 : 2000).measure()
        Progress.say("restarts")
        let restarts = try RestartBenchmark(
            agent: programs.products + "/holdfast-agent",
            hello: programs.products + "/hello-world",
            rounds: quick ? 10 : 40
        ).measure()
        Progress.say("faults")
        let faults = try MainActor.assumeIsolated { try FaultBenchmark(rounds: quick ? 200 : 2000).measure() }
        return FaultBenchmark.rows(faults, restarts, jump: jump)
    }

    /// On two CPUs, as a client and a server have them; of the modes that are wanted, and of their peer.
    private func servingRows(_ filter: RowFilter) throws -> [Row] {
        let benchmark = ServingBenchmark(
            agent: programs.products + "/holdfast-agent",
            supervisor: programs.products + "/holdfast",
            faults: quick ? 15 : 210,
            window: 200e6
        )
        var results: [ServingBenchmark.Mode: ServingBenchmark.Result] = [:]
        try Affinity.run(on: programs.twoCpus, before: programs.cpu) {
            for mode in ServingBenchmark.Mode.allCases
            where mode == .unprotected || ServingBenchmark.names(of: mode).contains(where: { filter.wants($0) }) {
                Progress.say("requests around faults: " + mode.title)
                results[mode] = try benchmark.measure(mode)
            }
        }
        return ServingBenchmark.rows(results)
    }
}
