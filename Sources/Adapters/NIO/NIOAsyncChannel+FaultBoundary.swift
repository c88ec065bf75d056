#if NIO
@_exported public import Holdfast
public import NIOCore

extension NIOAsyncChannel {
    /// Serves a connection in a fault boundary: a fault in it costs the connection, and nobody else notices.
    ///
    /// ```swift
    /// for try await connection in connections {
    ///     group.addTask {
    ///         try? await connection.executeThenClose(boundary: "echo") { inbound, outbound in
    ///             for try await line in inbound { try await outbound.write(line) }
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// As `executeThenClose(_:)`, which it calls in the boundary. After a fault it closes the channel and waits until that is done. Faults on
    /// the event loop itself, in channel handlers, are outside.
    ///
    /// - Parameters:
    ///   - label: What reports, budgets and the log call it.
    ///   - body: Serves the connection.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws; `FaultError` if it faulted; `FaultBoundary.QuarantineError` if the label has faulted too often.
    public func executeThenClose<Result: Sendable>(
        boundary label: FaultBoundary.Label,
        _ body:
            @escaping @Sendable (
                _ inbound: NIOAsyncChannelInboundStream<Inbound>, _ outbound: NIOAsyncChannelOutboundWriter<Outbound>
            ) async throws -> Result
    ) async throws -> Result where Inbound: Sendable, Outbound: Sendable {
        let peer = channel.remoteAddress?.description ?? "none"
        do {
            return try await withFaultBoundary(label.described { ["network.peer.address": peer] }) { [self] in
                try await executeThenClose(body)
            }
        } catch let error where error is FaultError || error is FaultBoundary.QuarantineError {
            // It may be closed by now: the peer is gone, or the body was nearly done.
            try? await channel.close()
            throw error
        }
    }
}
#endif
