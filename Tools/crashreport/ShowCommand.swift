import ArgumentParser
import CrashReports
import Glibc

/// Shows one report.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one report.",
        discussion: """
            What is wrong and what to look at next come first, then where it happened (of a stall: where the time went), with \
            the source where it is on this machine, then what went before and what the process had.

            EXAMPLES:
              crashreport show last                  the newest report
              crashreport show 01a1fcd57d5b          by the first digits of its identifier
              crashreport show v2-12eef88096ca8feb   the newest report of a group
              crashreport show ./mailed.json         a file
              crashreport show last --all-threads    with the calls of every thread
              crashreport show last --json | jq .fault.diagnosis
            """
    )

    @OptionGroup
    var report: ReportSelection

    @OptionGroup
    var options: StoreOptions

    @Flag(help: "Show the calls of all threads, not only of the one that faulted or stalled.")
    var allThreads = false

    @Flag(help: "Print the report as JSON, in the form of this version.")
    var json = false

    @Flag(help: "Print the bytes of the report's file as they are.")
    var raw = false

    @OptionGroup
    var pager: PagerOptions

    func validate() throws {
        if json, raw { throw ValidationError("--json and --raw exclude each other.") }
    }

    func run() throws {
        if raw { return try Output.write(bytes: try ReportReference(report.id).bytes(options)) }
        let report = try report.load(options)
        if json { return try Output.write(bytes: try Failure.jsonBytes(of: report)) }
        var text = ReportText(report)
        text.layout = Terminal.standardOutput.layout
        text.showsAllThreads = allThreads
        text.now = .now
        text.machine = Machine.name
        text.excerpt = { SourceExcerpt(path: $0, line: $1, context: 3) }
        text.disassembly = { bytes, address in
            Disassembler.instructions(bytes, at: address, architecture: report.host.architecture)
        }
        try Output.page(text.text(), pager)
    }
}

/// The machine that this program runs on.
enum Machine {
    /// Its name, as in the reports of its processes.
    static var name: String? {
        var buffer = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&buffer, buffer.count - 1) == 0 else { return nil }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
