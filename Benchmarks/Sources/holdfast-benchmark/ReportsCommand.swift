import ArgumentParser
import Glibc

/// Measures a store of very many reports.
struct ReportsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reports",
        abstract: "Measures crashreport over a store of very many reports.",
        discussion: """
            Lower is better in every row. Values are medians. The number in brackets says how many times Holdfast's value another way \
            of doing it takes, in the same run, over the same files. Documentation/ReportStore.md describes the rows.
            """
    )

    @Option(help: "The program crashreport.")
    var crashreport: String

    @Option(help: "How many reports.")
    var reports = 100_000

    @Option(help: "A folder for the store, which is removed at the end.")
    var folder = "/tmp/holdfast-reports-\(getpid())"

    @Option(help: "How often each list is made.")
    var rounds = 9

    @Option(help: "Write the rows as JSON to this file, too.")
    var json: String?

    func validate() throws {
        guard reports >= 1000 else { throw ValidationError("--reports takes a number from 1000.") }
        guard rounds > 0 else { throw ValidationError("--rounds takes a number above 0.") }
    }

    func run() throws {
        let benchmark = ReportStoreBenchmark(
            folder: folder,
            crashreport: crashreport,
            count: reports,
            rounds: rounds
        )
        defer { ProcFile.remove(folder) }
        var table = Table(columns: [])
        Progress.say("a fault")
        let typical = try MainActor.assumeIsolated { try TypicalReport(in: folder) }
        for row in try benchmark.rows(of: typical) { table.add(row) }
        Progress.end()
        print(table.text)
        if let json { try table.write(to: json) }
        // The host's handlers stay in place to the end; nothing after this may fault.
        ProcFile.remove(folder)
        Glibc.exit(0)
    }
}
