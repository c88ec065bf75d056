#if Hummingbird
internal import Holdfast
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOPosix

/// Answers requests of its own before the server opens its port: the first ones of a process take many times as long as later ones, because
/// functions are bound, metadata is made and memory is touched.
///
/// It is for a process that has the time, because another one serves meanwhile. Its port is one of 127.0.0.1 that the kernel chooses, open
/// for some milliseconds. Whatever goes wrong is the end of the warm-up, and of nothing else.
struct WarmUp<Responder: HTTPResponder>: Sendable
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    let responder: Responder
    let server: HTTPServerBuilder
    let eventLoopGroup: any EventLoopGroup
    /// What is asked for, beside answers that are made here.
    let paths: [String]

    /// How long it takes at most.
    private var limit: TimeAmount { .seconds(5) }

    /// Does it; returns when everything was answered, or when the time is over.
    func run() async {
        let done = eventLoopGroup.any().makePromise(of: Void.self)
        let application = Application(
            responder: WarmUpResponder(inner: responder),
            server: server,
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            // It accepts when this has returned.
            onServerRunning: { channel in
                Task {
                    await ask(channel)
                    channel.close(promise: nil)
                }
            },
            eventLoopGroupProvider: .shared(eventLoopGroup),
            logger: Logger(label: "warm-up") { _ in SwiftLogNoOpLogHandler() }
        )
        // Not awaited: a handler that never ends must not hold up the start.
        let task = Task {
            // It says that its server has ended, which is no news.
            try? await application.run()
            done.succeed()
        }
        let late = eventLoopGroup.any().scheduleTask(in: limit) {
            task.cancel()
            done.succeed()
        }
        try? await done.futureResult.get()
        late.cancel()
    }

    /// Asks on each event loop: the server gives its connections to them in turns.
    private func ask(_ channel: any Channel) async {
        guard let address = channel.localAddress else { return }
        for path in [WarmUpResponder<Responder>.path, WarmUpResponder<Responder>.path] + paths {
            for _ in eventLoopGroup.makeIterator() {
                try? await ask(path, at: address)
            }
        }
    }

    /// Asks for a path, and waits until the connection has ended.
    private func ask(_ path: String, at address: SocketAddress) async throws {
        let client = ClientBootstrap(group: eventLoopGroup)
        let channel = try await client.connect(to: address).get()
        let request = "GET \(path) HTTP/1.1\r\nHost: localhost\r\nUser-Agent: \(userAgent)\r\nConnection: close\r\n\r\n"
        try await channel.writeAndFlush(ByteBuffer(string: request))
        try await channel.closeFuture.get()
    }
}

/// What its requests say of themselves.
private let userAgent = "holdfast-warm-up"

/// Answers the requests that are for nobody, and passes on the others.
private struct WarmUpResponder<Inner: HTTPResponder>: HTTPResponder {
    static var path: String { "/.holdfast/warm-up" }
    let inner: Inner

    // As the protocol's is, in which the context is not sent across an isolation.
    @concurrent func respond(to request: Request, context: Inner.Context) async throws -> Response {
        guard request.uri.path == Self.path else { return try await inner.respond(to: request, context: context) }
        return try await withFaultBoundary("warm-up") {
            Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(string: "warm\n")))
        }
    }
}
#endif
