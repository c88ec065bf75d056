import CrashReports
import FaultInjection
import Foundation
import Glibc
import Symbolication
import SystemPackage
import TestSupport

/// A case that was run to its end.
struct CaseRun: Sendable {
    let outcome: Outcome
    let lines: [String]
    /// Everything that is not as the rules say, in words.
    var problems: [String] = []
    /// The oldest first.
    let reports: [CrashReport]
    /// The first report's file.
    let firstReport: Data?
    /// What the probe wrote to its standard error, for whoever looks for the reason of a problem.
    let errors: String

    /// The longest that anything takes which does not hang: two checks of the probe may fail, at 25 seconds each.
    private static let limit: Duration = .seconds(90)

    init(_ matrixCase: MatrixCase, _ probe: String) throws {
        let store = try StoreReader()
        // One heap for all threads (mallopt(3), M_ARENA_MAX): what allocates while a thread that holds it is parked, waits for it.
        let command = matrixCase.command(probe)
        let process = try ChildProcess(
            command[0],
            command.dropFirst() + [store.path],
            environment: ["MALLOC_ARENA_MAX": "1"]
        )
        var lines: [String] = []
        let deadline = ContinuousClock.now + Self.limit
        var end: ChildProcess.End?
        do {
            while let line = try process.output.next(within: max(.zero, deadline - .now)) { lines.append(line) }
            end = try process.wait(within: max(.seconds(1), deadline - .now))
        } catch {
            process.kill(SIGKILL)
            lines.append("killed: \(error)")
            _ = try? process.wait()
        }
        self.lines = lines
        errors = process.errors
        // What the process left in the spool; `crashreport` does the same.
        if try !store.spoolNames().isEmpty {
            let problems = SpoolFinisher(store: ReportStore(path: FilePath(store.path))).finish().problems
            self.problems += problems.map { "spool: \($0)" }
        }
        if try !store.spoolNames().isEmpty { problems.append("the spool has \(try store.spoolNames())") }
        firstReport = try store.reportPaths().first.map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
        reports = try store.reports().sorted { $0.timestamp < $1.timestamp }
        outcome = Self.outcome(of: lines, Self.asOfItself(end, matrixCase), reports)
    }

    /// The end as it is outside of a namespace: its process 1 cannot be ended by a signal of its own (pid_namespaces(7)), and exits with
    /// the status that a shell makes of one.
    private static func asOfItself(_ end: ChildProcess.End?, _ matrixCase: MatrixCase) -> ChildProcess.End? {
        guard matrixCase.setting == .processOne, case .exited(let status) = end, status > 128 else { return end }
        return .signalled(status - 128)
    }

    /// What became of the process, by its own words, its end and its reports.
    private static func outcome(of lines: [String], _ end: ChildProcess.End?, _ reports: [CrashReport]) -> Outcome {
        guard let end else { return .hang }
        guard lines.contains("reached"), !lines.contains("returned") else { return .unclassified }
        let hasFailures = lines.contains { $0.hasSuffix("FAILED") || $0 == "given up" }
        switch end {
        case .signalled(let signal): return hasFailures ? .broken : .ends(signal)
        case .exited(0) where lines.last == "restarted 1":
            let wasResumed = reports.last?.verdict.decision == .resume
            if lines.contains("handing over") { return wasResumed ? .resumeAndRestart : .drainAndRestart }
            // Another fault followed the one that was resumed.
            return lines.count { $0 == "reached" } > 1 || wasResumed ? .broken : .restart
        case .exited where hasFailures: return .broken
        case .exited(0) where lines.last?.hasPrefix("resumed ") == true: return .resume
        default: return .unclassified
        }
    }
}
