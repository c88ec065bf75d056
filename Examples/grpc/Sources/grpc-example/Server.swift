import ArgumentParser
import GRPCCore
import GRPCNIOTransportHTTP2
import Glibc
import HoldfastGRPC

@main struct Example: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grpc-example",
        abstract: "A gRPC server whose calls may fault, and a client that counts how they end.",
        subcommands: [Serve.self, Load.self],
        defaultSubcommand: Serve.self
    )
}

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Serve until SIGTERM.")

    @Option(help: "The port on 127.0.0.1; 0 for any.") var port = 8081
    @Option(help: "The path of the store for reports.") var store: String?
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
            host = try EventHost.start(configuration)
        }
        let transport = HTTP2ServerTransport.Posix(
            address: .ipv4(host: "127.0.0.1", port: port),
            transportSecurity: .plaintext
        )
        if unprotected {
            try await serve(GRPCServer(transport: transport, services: [FaultService()]), transport, host)
        } else {
            try await serve(
                GRPCServer(transport: transport.withFaultBoundaries(), services: [FaultService()]),
                transport,
                host
            )
        }
    }

    @MainActor
    private func serve(
        _ server: GRPCServer<some ServerTransport>,
        _ transport: HTTP2ServerTransport.Posix,
        _ host: EventHost?
    ) async throws {
        // Calls that are under way are finished.
        try host?.onSignal(SIGTERM) { _ in server.beginGracefulShutdown() }
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { try await server.serve() }
            let port = try await transport.listeningAddress.ipv4?.port ?? 0
            EventHost.notifyReady()
            print("listening 127.0.0.1:\(port) pid \(getpid())")
            fflush(nil)
        }
    }
}
