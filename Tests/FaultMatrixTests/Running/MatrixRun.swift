import Dispatch
import FaultInjection
import Foundation
import Synchronization
import TestSupport

/// The whole matrix, run once for all tests of this process.
final class MatrixRun: Sendable {
    struct Cell: Hashable, Sendable {
        let matrixCase: MatrixCase
        let build: Build
    }

    /// How many probes run at once: they wait for most of their time.
    private static let workers = 4

    static let shared = Result { try MatrixRun() }

    let builds: [Build]
    let runs: [Cell: CaseRun]
    /// How long each build took.
    let durations: [Build: Duration]

    /// The cases that were asked for, and cannot be run here.
    let casesLeftOut: Int

    private init() throws {
        let wanted =
            switch ProbeBuilds.selection {
            case "core": MatrixPlan.coreCases
            case "sample": MatrixPlan.sampledCases
            default: MatrixPlan.cases
            }
        // In a debug build a static program reads its own symbols for most of the time that such a case may use.
        let cases = wanted.filter { matrixCase in
            MatrixPlan.isRunnable(matrixCase)
                && !(ProbeBuilds.areStatic && matrixCase.cause == .hazard(.processorTime))
        }
        let paths = try ProbeBuilds.paths()
        builds = paths.keys.sorted()
        var runs: [Cell: CaseRun] = [:]
        var durations: [Build: Duration] = [:]
        for build in builds {
            let start = ContinuousClock.now
            let results = try Self.run(cases, paths[build] ?? "")
            for (matrixCase, run) in results { runs[Cell(matrixCase: matrixCase, build: build)] = run }
            durations[build] = ContinuousClock.now - start
        }
        self.runs = runs
        self.durations = durations
        casesLeftOut = (wanted.count - cases.count) * builds.count
    }

    private static func run(_ cases: [MatrixCase], _ probe: String) throws -> [(MatrixCase, CaseRun)] {
        let work = Work()
        let ended = DispatchSemaphore(value: 0)
        // Threads of their own: more of them than processors, and all of them block.
        for _ in 0..<workers {
            Thread.detachNewThread {
                while true {
                    let index = work.next.add(1, ordering: .relaxed).oldValue
                    guard index < cases.count else { break }
                    let result = Result { try CaseRun(cases[index], probe) }
                    work.results.withLock { $0.append((cases[index], result)) }
                }
                ended.signal()
            }
        }
        for _ in 0..<workers { ended.wait() }
        return try work.results.withLock { try $0.map { ($0.0, try $0.1.get()) } }
    }

    /// What the workers share.
    private final class Work: Sendable {
        let next = Atomic<Int>(0)
        let results = Mutex<[(MatrixCase, Result<CaseRun, any Error>)]>([])
    }

    /// What was seen in a build that was run, and what the rules say of one that was not.
    func outcome(of matrixCase: MatrixCase, in build: Build) -> Outcome {
        runs[Cell(matrixCase: matrixCase, build: build)]?.outcome ?? Expectation(matrixCase, in: build).outcome
    }
}
