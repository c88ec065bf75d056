#if GRPC
public import GRPCCore
@_exported public import Holdfast
internal import Synchronization

/// A transport that hands each call to the server in a fault boundary of its own: a fault in it costs the call.
///
/// `ServerTransport.withFaultBoundaries()` makes one. Not an interceptor: what an interceptor calls may not outlive it, and an abandoned
/// call might.
public final class FaultBoundaryTransport<Inner: ServerTransport>: ServerTransport {
    /// The bytes of a message.
    public typealias Bytes = Inner.Bytes

    private let inner: Inner
    /// Protected by its lock; set before there are calls.
    private let labels = Mutex<[MethodDescriptor: FaultBoundary.Label]>([:])
    /// Finished when the program has told the server to stop.
    private let (stopped, stop) = AsyncStream<Never>.makeStream()

    /// Wraps a transport.
    public init(_ inner: Inner) {
        self.inner = inner
    }

    /// Learns the methods of the server.
    public func configure(context: GRPCServerContext) {
        let methods = context.methods.map { ($0, FaultBoundary.Label($0.fullyQualifiedMethod)) }
        labels.withLock { $0 = Dictionary(methods) { $1 } }
        inner.configure(context: context)
    }

    /// Accepts calls until the transport is told to stop.
    public func listen(
        streamHandler:
            @escaping @concurrent @Sendable (
                _ stream: RPCStream<Inner.Inbound, Inner.Outbound>,
                _ context: ServerContext
            ) async -> Void
    ) async throws {
        // The methods are known by now. Clients may ask for others, which share a label.
        let labels = labels.withLock { $0 }
        // Clients are sent a GOAWAY (RFC 9113, 6.8): their next calls go to the other process.
        EventHost.onRest { [inner] in inner.beginGracefulShutdown() }
        try await inner.listen { stream, context in
            do {
                let label = (labels[context.descriptor] ?? unknownMethod).described {
                    [
                        // The names of OpenTelemetry's semantic conventions for RPC.
                        "rpc.service": context.descriptor.service.fullyQualifiedService,
                        "rpc.method": context.descriptor.method, "network.peer.address": context.remotePeer,
                    ]
                }
                try await withFaultBoundary(label) { await streamHandler(stream, context) }
            } catch let fault as FaultError {
                await Self.end(stream.outbound, fault)
            } catch let refusal as FaultBoundary.QuarantineError {
                try? await stream.outbound.write(.status(Status(code: .unavailable, message: "\(refusal)"), [:]))
                await stream.outbound.finish()
            } catch {
                // The handler throws nothing.
            }
        }
        guard EventHost.isBeingReplaced else { return }
        // A process ends when it is told, and not because its last client has left: it may have something to hand over.
        for await _ in stopped {}
    }

    /// Ends a call whose handler has faulted.
    ///
    /// What it has sent so far is with the client; the status says that there is no more.
    private static func end(_ outbound: Inner.Outbound, _ fault: FaultError) async {
        let message = "internal error" + (fault.report.map { ", report \($0)" } ?? "")
        let status = Status(code: .internalError, message: message)
        // The client may be gone, or the status may have been sent just before the fault.
        let metadata: Metadata = fault.report.map { ["x-crash-report": "\($0)"] } ?? [:]
        try? await outbound.write(.status(status, metadata))
        await outbound.finish()
    }

    /// Stops accepting calls.
    public func beginGracefulShutdown() {
        stop.finish()
        inner.beginGracefulShutdown()
    }
}

private let unknownMethod = FaultBoundary.Label(ofMany: "unknown method")

extension ServerTransport {
    /// The same transport, with each call in a fault boundary of its own.
    ///
    /// ```swift
    /// let server = GRPCServer(transport: transport.withFaultBoundaries(), services: [service])
    /// ```
    ///
    /// A call whose handler or interceptor faults ends with the status `INTERNAL`, and the id of the report in its message and in the
    /// trailing metadata `x-crash-report`. A method that has faulted too often (`FaultBudget.perLabel`) ends with `UNAVAILABLE` for a while.
    ///
    /// When another process has taken over (`holdfast upgrade`, or `holdfast run --standby`), clients are told to open another connection.
    ///
    /// - Returns: The transport, for a `GRPCServer`.
    public func withFaultBoundaries() -> FaultBoundaryTransport<Self> { FaultBoundaryTransport(self) }
}
#endif
