import ArgumentParser
import CrashReports

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
    /// The store could not be changed: no report that is there, or none that is to come, could be written.
    static let cannotChange = ExitCode(73)
    /// The output could not be written.
    static let cannotWrite = ExitCode(74)

    /// The status for something that is wrong with a store.
    static func of(_ error: ReportStoreError) -> ExitCode {
        switch error.code {
        case .noSuchReport, .ambiguous: noSuchReport
        case .noLocation: usage
        case .unwritable: cannotChange
        default: damaged
        }
    }

    /// Says that the store is empty and gives the status for it.
    static func noReports(in store: ReportStore) -> ExitCode {
        Output.complain("no crash reports in \(store.path)")
        return noReports
    }

    /// Says that no report of the store fits the filters and gives the status for it.
    static func noMatch(in store: ReportStore) -> ExitCode {
        Output.complain("no crash report in \(store.path) fits the filters")
        return noReports
    }

    /// Says why no report is left, and gives the status for it; what could not be read was said before.
    static func nothing(in store: ReportStore, _ problems: [ReportStoreError], _ filter: ReportFilter) -> ExitCode {
        // Where some can be read, none of them fits; a store of which nothing can be read says nothing about that.
        let isReadable = problems.isEmpty || (try? store.summaries(limit: 1).summaries.isEmpty) == false
        guard isReadable else { return damaged }
        return filter.isEmpty ? noReports(in: store) : noMatch(in: store)
    }
}
