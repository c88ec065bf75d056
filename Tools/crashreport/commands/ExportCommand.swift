import ArgumentParser
import CrashReports
import ReportExports

/// Writes reports in the forms of other projects.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write reports for Sentry, for OpenTelemetry, as Apple's crash text, or for flame graphs.",
        discussion: """
            Several reports in a format that has a file for each need a folder as --output.

            FORMATS:
              sentry      an envelope for each report, to be sent to Sentry or Relay
              otlp        log records of OpenTelemetry, as OTLP has them in JSON
              apple       text in the layout of Apple's crash reports, for each report
              json-lines  the reports themselves, a line for each
              folded      the profiles of stalls, for flamegraph.pl and speedscope

            EXAMPLES:
              crashreport export last --format sentry --output last.envelope
              crashreport export --all --format otlp > logs.jsonl
              crashreport export --since 2h --signal SEGV --format sentry --output out/
              crashreport export 01a1fcd57d5b 01a1fcd58112 --format apple --output crashes/
              crashreport export last --format folded | flamegraph.pl > last.svg
            """
    )

    @Argument(
        help: ArgumentHelp(
            "First digits of identifiers, starts of fingerprints, \"last\", or paths of reports' files.",
            valueName: "id"
        ),
        completion: .custom(Completions.reports)
    )
    var ids: [String] = []

    @OptionGroup
    var options: StoreOptions

    @OptionGroup(title: "Filters")
    var filter: FilterOptions

    @Flag(help: "Write all reports of the store, or all that fit the filters.")
    var all = false

    @Option(help: ArgumentHelp("sentry, otlp, apple, json-lines or folded.", valueName: "format"))
    var format: ExportFormat

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The file or the folder to write; - is the standard output.", valueName: "path"),
        completion: .file()
    )
    var output = "-"

    @Option(help: ArgumentHelp("sentry: the release; else the tag \"release\", or name and build.", valueName: "name"))
    var release: String?

    @Option(help: ArgumentHelp("sentry: the environment; else the tag \"environment\".", valueName: "name"))
    var environment: String?

    @Flag(help: "sentry: attach the report itself.")
    var attachReport = false

    func validate() throws {
        let isFiltered = !filter.filter.isEmpty
        if ids.isEmpty, !all, !isFiltered { throw ValidationError("Name the reports, or give --all or a filter.") }
        if !ids.isEmpty, all || isFiltered { throw ValidationError("--all and filters are for no named report.") }
        if output.isEmpty { throw ValidationError("The output must not be empty; - is the standard output.") }
        let isForSentry = release != nil || environment != nil || attachReport
        if isForSentry, format != .sentry {
            throw ValidationError("--release, --environment and --attach-report are for the format sentry.")
        }
    }

    func run() throws {
        let wanted = try ids.isEmpty ? WantedReports(options, filter.filter) : WantedReports(named: ids, options)
        if format.hasFileForEach { try writeEach(wanted) } else { try writeTogether(wanted) }
        if wanted.isIncomplete { throw ExitStatus.damaged }
    }

    private func writeEach(_ wanted: WantedReports) throws {
        let target = OutputFile(output)
        guard target.isFolder || wanted.ids.count > 1 else {
            guard let report = try wanted.read(0) else { throw wanted.nothing() }
            return try target.write(try bytes(of: report))
        }
        guard !target.isStandardOutput else {
            Output.complain("\(format.rawValue) has a file for each report: name a folder with --output")
            throw ExitStatus.usage
        }
        try target.createFolder()
        try Progress.shown("writing files") { progress in
            for number in wanted.ids.indices {
                progress.update(done: number, total: wanted.ids.count)
                guard let report = try wanted.read(number) else { continue }
                try target.file("\(report.id).\(format.fileExtension)").write(try bytes(of: report))
            }
        }
    }

    /// Reports are not held in memory all at once: a line of OTLP is a document of its own.
    private func writeTogether(_ wanted: WantedReports) throws {
        var bytes: [UInt8] = []
        var hasRead = false
        let count = wanted.ids.count
        try Progress.shown("reading reports") { progress in
            for start in stride(from: 0, to: count, by: Self.reportsPerDocument) {
                let reports = try (start..<min(start + Self.reportsPerDocument, count)).compactMap(wanted.read)
                if !reports.isEmpty { bytes += try self.bytes(of: reports) }
                hasRead = hasRead || !reports.isEmpty
                progress.update(done: min(start + Self.reportsPerDocument, count), total: count)
            }
        }
        guard !bytes.isEmpty else {
            guard hasRead, format == .folded else { throw wanted.nothing() }
            Output.complain("only stalls have a profile, and none of these reports has one")
            throw ExitStatus.noReports
        }
        var target = OutputFile(output)
        if target.isFolder {
            try target.createFolder()
            target = target.file("reports.\(format.fileExtension)")
        }
        try target.write(bytes)
    }

    private static let reportsPerDocument = 512

    private func bytes(of report: CrashReport) throws -> [UInt8] {
        if format == .apple { return Array(AppleCrashText(report).text().utf8) }
        return try SentryEnvelope(
            report,
            options: .init(release: release, environment: environment, attachesReport: attachReport)
        ).bytes()
    }

    private func bytes(of reports: [CrashReport]) throws -> [UInt8] {
        switch format {
        case .folded: foldedStacks(of: reports)
        case .jsonLines: try reports.flatMap { try JSONText.line($0) }
        default: try OTLPLogs(reports).bytes()
        }
    }

    /// A report without a profile is named, unless whoever asked for all of them knows that most have none.
    private func foldedStacks(of reports: [CrashReport]) -> [UInt8] {
        var left = 0
        let bytes = reports.flatMap { report -> [UInt8] in
            let lines = FoldedStacks(report)?.bytes() ?? []
            guard lines.isEmpty else { return lines }
            left += 1
            if !ids.isEmpty { Output.complain("\(report.id) has no profile: it is left out") }
            return []
        }
        if ids.isEmpty, left > 0, left < reports.count {
            let (have, are) = left == 1 ? (" has", "is") : ("s have", "are")
            Output.complain("\(left) report\(have) no profile and \(are) left out")
        }
        return bytes
    }
}

/// A form that reports are written in.
enum ExportFormat: String, ExpressibleByArgument, CaseIterable {
    case sentry
    case otlp
    case apple
    case jsonLines = "json-lines"
    case folded

    /// Whether each report is a file of its own.
    var hasFileForEach: Bool { self == .sentry || self == .apple }

    /// What the name of a file ends with.
    var fileExtension: String {
        switch self {
        case .sentry: "envelope"
        case .apple: "crash"
        case .otlp, .jsonLines: "jsonl"
        case .folded: "folded"
        }
    }
}
