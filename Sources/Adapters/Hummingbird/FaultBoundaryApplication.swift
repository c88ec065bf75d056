#if Hummingbird
public import Holdfast
public import Hummingbird
public import HummingbirdCore
public import Logging
public import NIOCore
public import ServiceLifecycle
internal import Synchronization

/// An application whose requests are answered in fault boundaries, and that is the same in everything else.
///
/// `ApplicationProtocol.withFaultBoundaries(_:)` makes one.
public struct FaultBoundaryApplication<Inner: ApplicationProtocol>: ApplicationProtocol {
    private let inner: Inner
    private let answer: FaultBoundaryResponder<Inner.Responder>.Answer
    private let warmUpPaths: [String]
    /// The responder that was made for the server: making another one may do again what the program does in it.
    private let made = Latest<FaultBoundaryResponder<Inner.Responder>>()

    fileprivate init(
        _ inner: Inner,
        warmUp paths: [String],
        answer: @escaping FaultBoundaryResponder<Inner.Responder>.Answer
    ) {
        self.inner = inner
        self.answer = answer
        warmUpPaths = paths
    }

    /// The wrapped responder.
    public var responder: FaultBoundaryResponder<Inner.Responder> {
        get async throws {
            let responder = FaultBoundaryResponder(try await inner.responder, answer: answer, endsConnections: isHTTP1)
            made.value.withLock { $0 = responder }
            return responder
        }
    }

    /// Whether its connections are of HTTP/1 alone.
    ///
    /// Its server's type says so, and only that of one that was built: nothing listens before it runs.
    private var isHTTP1: Bool {
        let built = try? server.buildServer(
            configuration: ServerConfiguration(),
            eventLoopGroup: eventLoopGroup,
            logger: logger
        ) { _, _, _ in }
        guard let built else { return false }
        let name = String(reflecting: type(of: built))
        return name.contains("HTTP1Channel") && !name.contains("HTTP2")
    }

    /// The inner application's.
    public var server: HTTPServerBuilder { inner.server }
    /// The inner application's.
    public var eventLoopGroup: any EventLoopGroup { inner.eventLoopGroup }
    /// The inner application's.
    public var configuration: ApplicationConfiguration { inner.configuration }
    /// The inner application's.
    public var logger: Logger { inner.logger }
    /// The inner application's.
    public var services: [any Service] { inner.services }
    /// The inner application's, and what warms up a process that another one serves for meanwhile.
    ///
    /// Its functions are concurrent, as Hummingbird's are: of another type this would be no witness, and Hummingbird's own default, which
    /// is none, would stand in without a word.
    public var processesRunBeforeServerStart: [@concurrent @Sendable () async throws -> Void] {
        inner.processesRunBeforeServerStart + [warmUp]
    }

    @concurrent @Sendable private func warmUp() async {
        guard EventHost.anotherProcessServes, isHTTP1, let responder = made.value.withLock({ $0 }) else { return }
        await WarmUp(responder: responder, server: server, eventLoopGroup: eventLoopGroup, paths: warmUpPaths).run()
    }

    /// Tells the inner application that the server runs, and the service manager that it serves.
    @Sendable public func onServerRunning(_ channel: any Channel) async {
        await inner.onServerRunning(channel)
        EventHost.notifyReady()
    }
}

/// The latest value of its kind.
private final class Latest<Value: Sendable>: Sendable {
    /// Protected by its lock.
    let value = Mutex<Value?>(nil)
}

extension ApplicationProtocol {
    /// The same application, with each request in a fault boundary of its own.
    ///
    /// ```swift
    /// try EventHost.start()
    /// try await application.withFaultBoundaries().runService()
    /// ```
    ///
    /// Its responder is that of `HTTPResponder.withFaultBoundaries(answer:)`.
    ///
    /// - Parameters:
    ///   - paths: What a process asks itself for, by GET, before it opens its port, while another one serves still: as one that stands by, or
    ///     after `holdfast upgrade`. The first requests of a process are slow, and so nobody waits for them. The program's handlers answer
    ///     them, so name what changes nothing.
    ///   - answer: Makes another answer than status 500.
    /// - Returns: The application.
    public func withFaultBoundaries(
        warmUp paths: [String] = [],
        answer: @escaping FaultBoundaryResponder<Responder>.Answer = { fault, _ in .internalServerError(fault) }
    ) -> FaultBoundaryApplication<Self> {
        FaultBoundaryApplication(self, warmUp: paths, answer: answer)
    }
}
#endif
