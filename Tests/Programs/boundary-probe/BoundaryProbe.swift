import FaultInjection
import Glibc
import Holdfast
import Synchronization

/// Plays a scenario with fault boundaries: `boundary-probe SCENARIO STORE [NUMBER]`.
///
/// An async main, as those who use boundaries have. A fault that is not resumed ends the process with `deniedStatus`.
@main struct BoundaryProbe {
    static let deniedStatus: CInt = 77

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 2, let scenario = scenarios[arguments[1]] else {
            fatalError("usage: boundary-probe \(scenarios.keys.sorted().joined(separator: "|")) STORE [NUMBER]")
        }
        if arguments[1] == "unprotected" {
            try await scenario(0)
            return
        }
        var configuration = EventHost.Configuration.keepServing
        configuration.store = arguments[2]
        configuration.budget = .generous
        if arguments[1] == "budget" { configuration.budget.perProcess = 2 }
        if arguments[1].hasPrefix("label-") { configuration.budget.perLabel = faultsOfLabel }
        if arguments[1] == "label-strays" { configuration.budget.perWindow = 10 }
        if arguments[1] == "label-retried" {
            configuration.advanced.quarantine = BackOff(first: .milliseconds(50), longest: .milliseconds(50))
        }
        // Its main loop waits for reports.
        if arguments[1] == "requests" { configuration.stallPolicy = nil }
        if arguments[1].hasPrefix("stall-") {
            configuration.stallPolicy = StallPolicy(rule: .once(after: .milliseconds(100)))
        }
        if arguments[1] == "tasks" { configuration.stallPolicy = nil }
        if arguments[1] == "tasks-signal" { configuration.advanced.taskDumpSignal = SIGQUIT }
        if arguments[1] == "tasks-unseen" { configuration.advanced.capturesThreads = false }
        configuration.restart = arguments[1].hasPrefix("served-") ? .inPlace : .exit(deniedStatus)
        try await MainActor.run { _ = try EventHost.start(configuration) }
        try await scenario(arguments.count > 3 ? Int(arguments[3]) ?? 0 : 0)
        say("end")
    }

    static let scenarios: [String: @Sendable (Int) async throws -> Void] = resumed.merging(denied) { $1 }
        .merging(chained) { $1 }.merging(late) { $1 }.merging(stalled) { $1 }.merging(waitingTasks) { $1 }
        .merging(labelled) { $1 }.merging(restarted) { $1 }
}

func say(_ line: String) {
    print(line)
    fflush(nil)
}

/// Runs a body in a boundary, and says how that ended.
func attempt(_ label: String, _ body: @escaping @Sendable () async throws -> Int) async {
    do {
        say("\(label) returned \(try await withFaultBoundary(FaultBoundary.Label(label), body))")
    } catch let refusal as FaultBoundary.QuarantineError {
        say("\(refusal)")
    } catch let error as FaultError {
        say("\(label) faulted: \(error.reason), fault \(error.number), boundary \(error.boundary)")
    } catch {
        say("\(label) threw \(error)")
    }
}

/// Traps with a message that is there in optimised builds, too: a function of its own, which the compiler does not see through.
@inline(never) func trap() -> Int {
    Fault.fatalError.commit()
    return 1
}
