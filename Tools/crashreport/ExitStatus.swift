import ArgumentParser
import CrashReports

/// The ways in which the command ends, with the numbers of `sysexits.h`.
enum ExitStatus {
    /// There is no report.
    static let noReports = ExitCode(1)
    /// The environment does not say where the reports are.
    static let usage = ExitCode(64)
    /// A report or the store is damaged, or may not be read.
    static let damaged = ExitCode(65)
    /// No report, or more than one, has such an identifier.
    static let noSuchReport = ExitCode(66)
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
        default: ExitStatus.damaged
        }
    }

    /// Says that the store is empty and gives the status for it.
    static func noReports(in store: ReportStore) -> ExitCode {
        Output.complain("no crash reports in \(store.path)")
        return ExitStatus.noReports
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
