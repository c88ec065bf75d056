import ArgumentParser
import Glibc
import HoldfastHummingbird
import Hummingbird
import Logging

@main struct Server: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hummingbird-example",
        abstract: "A Hummingbird server whose requests may fault."
    )

    @Option(help: "The port on 127.0.0.1; 0 for any.") var port = 8080
    @Option(help: "The path of the store for reports.") var store: String?
    @Option(help: "After how many milliseconds what does not go on is reported.") var stallThreshold = 1000
    @Flag(help: "Serve without Holdfast.") var unprotected = false

    @MainActor
    func run() async throws {
        var host: EventHost?
        if !unprotected {
            var configuration = EventHost.Configuration.keepServing
            configuration.store = store
            // Here faults are made on purpose, by the thousand, and all of them are counted.
            configuration.budget = .generous
            configuration.advanced.reportLimits = nil
            configuration.stallPolicy = StallPolicy(rule: .once(after: .milliseconds(stallThreshold)))
            host = try EventHost.start(configuration)
            try host?.watchServer()
        }
        var logger = Logger(label: "hummingbird-example")
        logger.logLevel = .warning
        let application = Application(
            router: makeRouter(host),
            configuration: .init(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in
                print("listening 127.0.0.1:\(channel.localAddress?.port ?? 0) pid \(getpid())")
                fflush(nil)
            },
            logger: logger
        )
        if unprotected {
            try await application.runService()
        } else {
            try await application.withFaultBoundaries(warmUp: ["/ok"]).runService()
        }
    }
}
