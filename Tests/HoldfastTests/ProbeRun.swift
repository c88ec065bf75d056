import CrashReports
import TestSupport

/// A scenario of `recovery-probe`, run to its end.
struct ProbeRun {
    let end: ChildProcess.End
    let lines: [String]
    /// The oldest first.
    let reports: [CrashReport]

    /// Runs it, or another copy of it; a `prefix` is a program that runs the probe, with its options.
    init(
        _ scenario: String,
        earlyRestarts: Int = 0,
        environment: [String: String] = [:],
        prefix: [String] = [],
        program: String? = nil
    ) throws {
        let store = try StoreReader()
        // The history counts only for the pid that it names, which a shell knows before it becomes the probe.
        let shell = "HOLDFAST_PID=$$ HOLDFAST_EARLY_RESTARTS=\(earlyRestarts) exec \"$0\" \"$@\""
        let run = try ProgramRun.run(
            "/bin/sh",
            ["-c", shell] + prefix + [program ?? BuiltProduct.path(of: "recovery-probe"), scenario, store.path],
            environment: environment
        )
        end = run.end
        lines = run.output.split(separator: "\n").map(String.init)
        // What the process left in the spool is finished by this.
        _ = try store.list()
        reports = try store.reports().sorted { $0.timestamp < $1.timestamp }
    }
}
