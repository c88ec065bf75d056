import ArgumentParser
import CrashReports
import ReportText

/// The ways in which the command ends, with the numbers of `sysexits.h`.
enum ExitStatus {
    /// There is no report.
    static let noReports = ExitCode(1)
    /// The usage is wrong, or the environment does not say where the reports are.
    static let usage = ExitCode(64)
    /// A report or the store is damaged, or may not be read.
    static let damaged = ExitCode(65)
    /// No report, or more than one, has such an identifier.
    static let noSuchReport = ExitCode(66)
    /// The store could not be changed.
    static let cannotChange = ExitCode(73)
    /// The output could not be written.
    static let cannotWrite = ExitCode(74)
}

/// What is said on the way out.
enum Failure {
    /// Says what is wrong and gives the status for it.
    static func exit(for error: ReportStoreError) -> ExitCode {
        Output.complain(error.description)
        return switch error.code {
        case .noSuchReport, .ambiguous: ExitStatus.noSuchReport
        case .noLocation: ExitStatus.usage
        case .unwritable: ExitStatus.cannotChange
        default: ExitStatus.damaged
        }
    }

    /// Says what is wrong with the name of a report and which it could have been, and gives the status for it.
    static func exit(
        for error: ReportStoreError,
        wanted: String,
        _ options: StoreOptions,
        _ zone: DisplayZone
    ) -> ExitCode {
        let code = exit(for: error)
        guard [.noSuchReport, .ambiguous].contains(error.code), let store = try? options.open(),
            let summaries = try? store.summaries(limit: nil).summaries
        else { return code }
        let words = error.code == .noSuchReport ? Spelling.suggestions(for: wanted, among: ["last"]) : []
        if let word = words.first, !summaries.isEmpty {
            Output.say("Did you mean \"\(word)\", the newest report?")
            return code
        }
        let candidates = Self.candidates(for: wanted, among: summaries, isAmbiguous: error.code == .ambiguous)
        guard !candidates.isEmpty else { return code }
        if error.code == .noSuchReport { Output.say("Did you mean:") }
        // As long as it takes to tell them from all others.
        let digits = ReportTable.distinctDigits(of: summaries.map(\.id))
        for summary in candidates.prefix(8) {
            let id = summary.id.rawValue.prefix(digits)
            Output.say(
                "  \(id)  \(zone.brief(summary.timestamp))  \(summary.process)  \(summary.subject)  \(summary.reason)"
            )
        }
        if candidates.count > 8 { Output.say("  and \(candidates.count - 8) more") }
        return code
    }

    private static func candidates(
        for wanted: String,
        among summaries: [ReportSummary],
        isAmbiguous: Bool
    ) -> [ReportSummary] {
        let wanted = wanted.lowercased()
        guard wanted.utf8.count <= 64 else { return [] }
        if isAmbiguous { return summaries.filter { $0.id.rawValue.hasPrefix(wanted) } }
        guard wanted.utf8.count >= 4 else { return [] }
        // The end of an identifier, its middle, or its start with a digit or two mistyped.
        return summaries.filter { summary in
            let id = summary.id.rawValue
            guard !id.contains(wanted) else { return true }
            return Spelling.distance(wanted, String(id.prefix(wanted.count))) <= 2
        }
    }

    /// Says that the store is empty and gives the status for it.
    static func noReports(in store: ReportStore) -> ExitCode {
        Output.complain("no crash reports in \(store.path)")
        return ExitStatus.noReports
    }

    /// Says that no report of the store fits the filters and gives the status for it.
    static func noMatch(in store: ReportStore) -> ExitCode {
        Output.complain("no crash report in \(store.path) fits the filters")
        return ExitStatus.noReports
    }

    /// Says why no report is left, and gives the status for it; what could not be read was said before.
    static func nothing(in store: ReportStore, _ problems: [ReportStoreError], _ filter: ReportFilter) -> ExitCode {
        // Where some can be read, none of them fits; a store of which nothing can be read says nothing about that.
        let isReadable = problems.isEmpty || (try? store.summaries(limit: 1).summaries.isEmpty) == false
        guard isReadable else { return ExitStatus.damaged }
        return filter.isEmpty ? noReports(in: store) : noMatch(in: store)
    }

    /// Writes JSON, or says why not.
    static func jsonBytes(of value: some Encodable) throws -> [UInt8] {
        do {
            return try JSONText.encode(value)
        } catch {
            Output.complain(error.description)
            throw ExitStatus.damaged
        }
    }
}
