import ArgumentParser
import CrashReports
import LinuxSystem
import Symbolication
import SystemPackage

/// Finishes reports that have no names.
struct SymbolicateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "symbolicate",
        abstract: "Name the functions in reports of stripped programs, or of other machines.",
        discussion: """
            A file is used only if it has the build id that the report gives, whatever it is called. Searched are the paths in \
            the report, /usr/lib/debug, and what the options name; links to debug files (.gnu_debuglink) are followed. The \
            report is replaced in its store, or in its file, at once or not at all; what it has already stays unless more is \
            known now. The reason, the diagnosis and the fingerprint are made anew.

            EXAMPLES:
              crashreport symbolicate last --debug-dir /srv/symbols
              crashreport symbolicate --all --binary build/agent --binary build/agent.debug
              crashreport symbolicate mailed.json --debug-dir . --output named.json
            """
    )

    @Argument(
        help: ArgumentHelp("Reports, named as for \"show\".", valueName: "id"),
        completion: .custom(Completions.reports)
    )
    var ids: [String] = []

    @Flag(help: "All reports of the store.")
    var all = false

    @OptionGroup
    var options: StoreOptions

    @Option(
        name: .customLong("debug-dir"),
        help: ArgumentHelp(
            "A directory of files with symbols: by build id (.build-id/ab/cdef.debug), by path, or by name. May be repeated.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var debugDirectories: [String] = []

    @Option(
        name: .customLong("binary"),
        help: ArgumentHelp(
            "A program, a library or a debug file, whatever it is called. May be repeated.",
            valueName: "file"
        ),
        completion: .file()
    )
    var binaries: [String] = []

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Write the report to a file, or to the standard output for \"-\".", valueName: "file"),
        completion: .file()
    )
    var output: String?

    func validate() throws {
        if all, !ids.isEmpty { throw ValidationError("Name reports, or give --all, but not both.") }
        if !all, ids.isEmpty { throw ValidationError("Name a report, \"last\", or give --all.") }
        if output != nil, ids.count != 1 { throw ValidationError("--output is for one report.") }
        if output == "" { throw ValidationError("The file to write must not be empty.") }
    }

    func run() throws {
        for path in binaries where (try? FileStatus(of: FilePath(path)))?.kind != .regular {
            Output.complain("\(path) is no file")
            throw ExitStatus.noSuchReport
        }
        for path in debugDirectories where (try? FileStatus(of: FilePath(path))) == nil {
            Output.complain("there is no directory \(path)")
            throw ExitStatus.noSuchReport
        }
        let symbolicator = ReportSymbolicator(
            search: DebugFileSearch(
                directories: debugDirectories + DebugFileSearch.systemDirectories,
                files: binaries
            )
        )
        defer {
            if let problem = DebugLibrary.problem {
                Output.complain("no lines: libdw cannot be loaded (\(problem)); install libdw1")
            }
        }
        if all { return try symbolicateAll(symbolicator) }
        for id in ids { try symbolicate(ReportReference(id), id, symbolicator) }
    }

    private func symbolicateAll(_ symbolicator: ReportSymbolicator) throws {
        let store = try options.openFinished()
        let files = try store.reportFiles()
        if files.isEmpty { throw ExitStatus.noReports(in: store) }
        var failure: ExitCode?
        Progress.shown("naming functions") { progress in
            for (index, file) in files.enumerated() {
                progress.update(done: index, total: files.count)
                do throws(ReportStoreError) {
                    try replace(try store.load(file.id), in: store, symbolicator)
                } catch {
                    // Removed since: there is nothing wrong with that.
                    guard error.code != .noSuchReport else { continue }
                    Output.complain(error.description)
                    failure = ExitStatus.of(error)
                }
            }
        }
        if let failure { throw failure }
    }

    private func symbolicate(_ reference: ReportReference, _ name: String, _ symbolicator: ReportSymbolicator) throws {
        let report = try reference.load(options)
        guard output != nil || reference.isPath else {
            return try replace(report, in: try options.open(), symbolicator)
        }
        let result = symbolicator.symbolicate(report)
        let file = OutputFile(output ?? name)
        if output != nil || result.report != report { try file.write(try result.report.json()) }
        if !file.isStandardOutput { try Output.write(SymbolicationText(result).text) }
    }

    private func replace(
        _ report: CrashReport,
        in store: ReportStore,
        _ symbolicator: ReportSymbolicator
    ) throws(ReportStoreError) {
        let result = symbolicator.symbolicate(report)
        if result.report != report {
            try store.update(report.id) { current in
                // The store was not locked meanwhile: another may have counted a fault in it, or named its functions.
                guard current.thread == report.thread, current.otherThreads == report.otherThreads,
                    current.stall?.profile == report.stall?.profile
                else { return }
                current.thread = result.report.thread
                current.otherThreads = result.report.otherThreads
                current.stall?.profile = result.report.stall?.profile
                current.reason = result.report.reason
                current.explain()
            }
        }
        // Whoever reads no more wants the rest of the reports named all the same.
        try? Output.write(SymbolicationText(result).text)
    }
}

/// What was found for a report, in lines.
struct SymbolicationText {
    let text: String

    init(_ result: SymbolicatedReport) {
        let layout = Terminal.standardOutput.layout
        let count = result.framesChanged
        let changes =
            count == 0 ? "nothing more is known than before" : "\(count) address\(count == 1 ? "" : "es") named anew"
        let lines = result.images.map { image in
            layout.visible("  \(image.name): \(Self.text(of: image))")
        }
        text = (["\(result.report.id.rawValue): \(changes)"] + lines).map { $0 + "\n" }.joined()
    }

    private static func text(of image: SymbolicatedReport.Image) -> String {
        switch image.source {
        case .found(let detail, let files):
            let what =
                switch detail {
                case .debugInformation: "functions and lines"
                case .symbols: "functions"
                case .exportedSymbols: "exported functions only"
                }
            return "\(what), from \(files.joined(separator: " and "))"
        case .mismatched(let path): return "\(path) is of another build than \(image.buildID ?? "")"
        case .missing: return "no file with build id \(image.buildID ?? "") was found"
        case .unverifiable: return "the report gives no build id: no file can be told to be the right one"
        }
    }
}
