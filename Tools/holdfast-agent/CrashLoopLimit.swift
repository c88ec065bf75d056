import ArgumentParser

/// What `--crash-loop-after` takes: how many processes in a row that served nothing are a crash loop, or `never`.
struct CrashLoopLimit: ExpressibleByArgument, Sendable {
    /// Nil for never.
    let earlyEnds: Int?

    init?(argument: String) {
        guard argument != "never" else {
            earlyEnds = nil
            return
        }
        guard let ends = Int(argument), ends > 0 else { return nil }
        earlyEnds = ends
    }
}
