import Glibc
import Holdfast
import Logging

/// The host of this process, which has only one: what measures signals by themselves comes before it.
@MainActor
enum BenchmarkHost {
    /// Its store, which is removed at the end.
    nonisolated static let storePath = "/tmp/holdfast-benchmark-\(getpid())"

    private static var made: EventHost?

    /// The host, made when it is first asked for; only then it matters what it does about stalls.
    static func host(stalls: StallPolicy? = nil) throws -> EventHost {
        if let made { return made }
        var configuration = EventHost.Configuration.conservative
        configuration.store = storePath
        configuration.budget = .generous
        configuration.afterResume = .keepServing
        configuration.advanced.quarantine = nil
        configuration.logger.logLevel = .error
        configuration.stallPolicy = stalls
        let host = try EventHost(configuration)
        made = host
        return host
    }

    /// Waits until all reports are up to date.
    static func settle() { made?.flushReports(within: .seconds(10)) }

    /// Closes the host and removes its store.
    static func end() {
        made?.close()
        made = nil
        ProcFile.remove(storePath)
    }
}
