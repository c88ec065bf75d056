#if NIO
import NIOCore
import NIOPosix

/// A server of SwiftNIO's on one event loop, with one connection.
enum EventLoop {
    /// Runs a body where such a server calls its users' code: in a channel handler, when its client has written.
    ///
    /// The client has an event loop of its own.
    static func serve(_ body: @escaping @Sendable () -> Void) throws {
        let server = try ServerBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(body: body))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .wait()
        guard let address = server.localAddress else { return say("error: no address") }
        try ClientBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
            .connect(to: address)
            .flatMap { $0.writeAndFlush(ByteBuffer(string: "go")) }
            .wait()
    }
}

private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let body: @Sendable () -> Void

    init(body: @escaping @Sendable () -> Void) {
        self.body = body
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        body()
    }
}
#endif
