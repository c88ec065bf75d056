import HoldfastNIO
import HoldfastServiceLifecycle
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// Sends back what it gets; a line that begins with `fault` costs its connection, and no other.
struct Echo: Service {
    let port: Int

    func run() async throws {
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        print("listening 127.0.0.1:\(server.channel.localAddress?.port ?? 0)")
        try await server.executeThenClose { connections in
            try await withThrowingDiscardingTaskGroup { group in
                for try await connection in connections.cancelOnGracefulShutdown() {
                    group.addTask { await serve(connection) }
                }
            }
        }
    }

    private func serve(_ connection: NIOAsyncChannel<ByteBuffer, ByteBuffer>) async {
        do {
            try await connection.executeThenClose(boundary: "echo") { inbound, outbound in
                for try await bytes in inbound {
                    precondition(!String(buffer: bytes).hasPrefix("fault"))
                    try await outbound.write(bytes)
                }
            }
        } catch {
            print("a connection has ended: \(error)")
        }
    }
}

let host = try EventHost.start()
try host.watch(MultiThreadedEventLoopGroup.singleton)
let port = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 7777
let group = ServiceGroup(
    services: [Echo(port: port), host.service],
    gracefulShutdownSignals: [.sigterm, .sigint],
    logger: Logger(label: "nio-example")
)
try await group.run()
