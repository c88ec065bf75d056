import FaultInjection
import Foundation
import TestSupport
import Testing

/// Faults by places by threads by builds.
///
/// The limit is for all cases of three builds, at two seconds each; what hangs, each case's own limit tells (`CaseRun`).
@Suite(.serialized, .timeLimit(.minutes(180))) struct FaultMatrixTests {
    @Test func `Every case ends as the rules say, with a report that says so, and after a resume everything works`()
        throws
    {
        let run = try MatrixRun.shared.get()
        var failures = 0
        for (cell, caseRun) in run.runs.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            let problems = CaseChecks(matrixCase: cell.matrixCase, build: cell.build, run: caseRun).problems
            guard !problems.isEmpty else { continue }
            failures += 1
            let unusual = caseRun.lines.filter { !$0.hasSuffix(": ok") }
            let words = [
                "\(cell.build.rawValue): fault-matrix-probe \(cell.matrixCase) STORE",
                problems.joined(separator: "\n  "),
                "output: " + unusual.joined(separator: " | "),
            ]
            Issue.record("\(words.joined(separator: "\n  "))")
        }
        let seconds = run.durations.sorted { $0.key < $1.key }.map {
            "\($0.key.rawValue) \($0.value.components.seconds) s"
        }
        if run.casesLeftOut > 0 {
            let others = [
                ProbeBuilds.areStatic ? "of processor-time" : nil,
                ProbeBuilds.haveEventLoops ? nil : "of event loops, which the probe was built without",
                ProcessNamespace.isAvailable ? nil : "of process 1, for which this user may not make a namespace",
            ]
            print(
                "fault matrix: \(run.casesLeftOut) cases not run: \(others.compactMap { $0 }.joined(separator: ", "))"
            )
        }
        print("fault matrix: \(run.runs.count) cases, \(failures) failures; \(seconds.joined(separator: ", "))")
    }

    @Test func `Reports of every fault and of every place are valid by the published schema`() throws {
        let run = try MatrixRun.shared.get()
        let seen = run.runs.filter { cell, _ in
            cell.matrixCase.place == .block || cell.matrixCase.cause == .fault(.nilUnwrap)
        }
        let folder = try TemporaryFolder()
        let paths = try seen.values.compactMap(\.firstReport).enumerated().map { number, report in
            try folder.write(String(decoding: report, as: UTF8.self), to: "\(number).json")
        }
        let violations = try StoreReader.violations(of: paths)
        #expect(violations.texts.isEmpty)
        #expect(violations.count == paths.count)
    }

    @Test func `The page in the documentation says what was seen`() throws {
        let page = MatrixPage(run: try MatrixRun.shared.get())
        if ProcessInfo.processInfo.environment["FAULT_MATRIX_RECORD"] != nil { try page.record() }
        let differences = page.differences
        #expect(
            differences.isEmpty,
            "\(differences.joined(separator: "\n"))\nTools/fault-matrix --record writes it anew."
        )
    }
}
