import ArgumentParser
import CrashReports
import Glibc
import ReportText

/// Shows one report.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one report.",
        discussion: """
            What is wrong and what to look at next come first, then whether it is new, where it happened (of a stall: where the \
            time went), what was decided, the source where it is on this machine, and the program's own calls: 45 lines at \
            most. With --full, everything else that the report has.

            EXAMPLES:
              crashreport show last                  the newest report
              crashreport show 01a1fcd57d5b          by the first digits of its identifier
              crashreport show v2-12eef88096ca8feb   the newest report of a group
              crashreport show ./mailed.json         a file
              crashreport show last --full           with everything else
              crashreport show last --all-threads    with the calls of every thread
              crashreport show last --json | jq .diagnosis
            """
    )

    @OptionGroup
    var report: ReportSelection

    @OptionGroup
    var options: StoreOptions

    @Flag(help: "Show everything that the report has.")
    var full = false

    @Flag(help: "Show everything, and the calls of all threads, not only of the one that faulted or stalled.")
    var allThreads = false

    @Flag(help: "Print the report as JSON, in the form of this version.")
    var json = false

    @Flag(help: "Print the bytes of the report's file as they are.")
    var raw = false

    @OptionGroup
    var times: TimeOptions

    @OptionGroup
    var pager: PagerOptions

    func validate() throws {
        if json, raw { throw ValidationError("--json and --raw exclude each other.") }
    }

    func run() throws {
        if raw { return try Output.write(bytes: try ReportReference(report.id).bytes(options)) }
        let reference = ReportReference(self.report.id)
        let report = try reference.load(options)
        if json { return try Output.write(bytes: try JSONText.encode(report)) }
        var text = ReportText(report)
        text.layout = Terminal.layout(in: times.zone)
        text.history = reference.history(of: report, options)
        text.showsAllThreads = allThreads
        text.now = .now
        text.machine = Machine.name
        text.excerpt = { SourceExcerpt(path: $0, line: $1, context: 3) }
        text.disassembly = { bytes, address in
            Disassembler.instructions(bytes, at: address)
        }
        try Output.page(full || allThreads ? text.text() : text.brief(), pager)
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
