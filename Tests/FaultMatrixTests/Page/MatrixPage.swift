import FaultInjection
import Foundation
import TestSupport

/// `Documentation/FaultMatrix.md`, made of what was seen.
struct MatrixPage {
    static let path = BuiltProduct.package + "/Documentation/FaultMatrix.md"

    let run: MatrixRun

    var text: String {
        [
            introduction, table("Loops", MatrixPlan.loops), table("Tasks", MatrixPlan.tasks),
            table(
                "Threads without a loop, and code outside of the host's run",
                MatrixPlan.threads
            ), unseen, causes,
        ].joined(separator: "\n\n") + "\n"
    }

    private var introduction: String {
        """
        # Fault matrix

        What follows a fault, by fault, place, thread and build. This page is written by its test (`Tools/fault-matrix --record`),
        from what was seen; the test fails when something else is seen, or when it is not what the rules say
        (`Tests/FaultMatrixTests/Rules`). \(MatrixPlan.cases.count) cases, each in a process of its own, in each of the builds
        debug, release, and release with cross-module optimization.

        - **resume**: the callout was abandoned, and everything that a loop can do was tried afterwards and works, on the loop that
          faulted and on the main one, the item that faulted included; then a second fault of the same kind went the same way.
        - **restart**: a fresh process took over at once. **drain, restart**: the main loop handed over before.
        - **ends by** a signal: that signal ended the process.

        Each has exactly one report for each fault, with the signal, the verdict and its reason, the thread and the callout; but
        for faults after `close()`, which nothing captures. Where a build or a place differs from the rest of its cell, it is
        in brackets. The policy is `allMemoryFaults`, unless a column says otherwise. *Process 1* is that of a process namespace with a
        /proc of its own, as in a container, at one of those callouts (`block`).

        The callouts are \(list(Place.callouts + Place.handlers)); on the second loop, one of each way in which a loop calls out:
        \(list(MatrixPlan.secondLoopPlaces)). In a fault boundary they are
        \(list(Place.boundaries)). On an event loop of SwiftNIO's it is the handler of a connection.
        """
    }

    private func list(_ places: [Place]) -> String {
        places.map { "`\($0.rawValue)`" }.joined(separator: ", ")
    }

    private func table(_ title: String, _ columns: [MatrixPlan.Column]) -> String {
        let head = "| fault | " + columns.map(\.title).joined(separator: " | ") + " |"
        let rule = "| --- |" + columns.map { _ in " --- |" }.joined()
        let rows = Cause.allCases.map { cause in
            "| `\(cause.name)` | " + columns.map { cell(cause, $0).text }.joined(separator: " | ") + " |"
        }
        return (["## \(title)", "", head, rule] + rows).joined(separator: "\n")
    }

    private func cell(_ cause: Cause, _ column: MatrixPlan.Column) -> MatrixCell {
        var outcomes: [MatrixCell.Origin: Outcome] = [:]
        for matrixCase in column.cases(of: cause) {
            for build in Build.allCases {
                let origin = MatrixCell.Origin(place: matrixCase.place, build: build)
                outcomes[origin] = run.outcome(of: matrixCase, in: build)
            }
        }
        return MatrixCell(outcomes: outcomes)
    }

    private var unseen: String {
        let outcomes = Build.allCases.map {
            (MatrixCell.Origin(place: .block, build: $0), run.outcome(of: MatrixPlan.handedOver, in: $0))
        }
        let cell = MatrixCell(outcomes: Dictionary(uniqueKeysWithValues: outcomes))
        return """
            ## What no rule can see

            `dictionary-modify` is resumed, and its dictionary may be broken: nothing on the stack or in a lock says so. Keep such
            state in a `Poisonable` box, and keep the default `afterResume = .restartWhenQuiet`. With that the outcome is:
            \(cell.text).
            """
    }

    private var causes: String {
        let rows = Cause.allCases.map { "| `\($0.name)` | \($0.summary) |" }
        return (["## The faults", "", "| fault | what it does |", "| --- | --- |"] + rows).joined(separator: "\n")
    }

    /// Writes the page.
    func record() throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: Self.path))
    }

    /// The lines in which the page in the repository and what was seen differ.
    var differences: [String] {
        let page = (try? String(contentsOfFile: Self.path, encoding: .utf8)) ?? ""
        let (old, new) = (page.components(separatedBy: "\n"), text.components(separatedBy: "\n"))
        return new.difference(from: old).map { change in
            switch change {
            case .insert(_, let line, _): "seen: \(line)"
            case .remove(_, let line, _): "page: \(line)"
            }
        }
    }
}
