#if Hummingbird
public import Holdfast
public import Hummingbird
public import HummingbirdCore
public import Logging
public import NIOCore
public import ServiceLifecycle

/// An application whose requests are answered in fault boundaries, and that is the same in everything else.
///
/// `ApplicationProtocol.withFaultBoundaries(_:)` makes one.
public struct FaultBoundaryApplication<Inner: ApplicationProtocol>: ApplicationProtocol {
    private let inner: Inner
    private let answer: FaultBoundaryResponder<Inner.Responder>.Answer

    fileprivate init(_ inner: Inner, answer: @escaping FaultBoundaryResponder<Inner.Responder>.Answer) {
        self.inner = inner
        self.answer = answer
    }

    /// The wrapped responder.
    public var responder: FaultBoundaryResponder<Inner.Responder> {
        get async throws {
            FaultBoundaryResponder(try await inner.responder, answer: answer, endsConnections: isHTTP1)
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
    /// The inner application's.
    public var processesRunBeforeServerStart: [@Sendable () async throws -> Void] {
        inner.processesRunBeforeServerStart
    }

    /// Tells the inner application that the server runs, and the service manager that it serves.
    @Sendable public func onServerRunning(_ channel: any Channel) async {
        await inner.onServerRunning(channel)
        EventHost.notifyReady()
    }
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
    /// - Parameter answer: Makes another answer than status 500.
    /// - Returns: The application.
    public func withFaultBoundaries(
        answer: @escaping FaultBoundaryResponder<Responder>.Answer = { fault, _ in .internalServerError(fault) }
    ) -> FaultBoundaryApplication<Self> {
        FaultBoundaryApplication(self, answer: answer)
    }
}
#endif
