#if ServiceLifecycle
@_exported public import Holdfast
public import ServiceLifecycle

/// A host in a `ServiceGroup`: when the group shuts down, nothing restarts the process any more, and reports that wait are written.
///
/// ```swift
/// let host = try EventHost.start()
/// let group = ServiceGroup(services: [server, host.service], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
/// try await group.run()
/// ```
///
/// Name it last: a group shuts its services down from the last to the first, so from the beginning nothing restarts the process. Faults are
/// resumed as ever meanwhile. Not for the services of a Hummingbird application, which puts its own server behind them: it needs none, because
/// an order to end that the program has taken is not lost (Recovery.md, Signals).
public struct EventHostService: Service {
    private let host: EventHost

    /// Makes the service of a host that was started.
    public init(_ host: EventHost) {
        self.host = host
    }

    /// Waits until the group shuts down.
    ///
    /// - Throws: `CancellationError` if the group gives up instead.
    public func run() async throws {
        try await gracefulShutdown()
        await MainActor.run { host.stop() }
    }
}

extension EventHost {
    /// The host as a service of a `ServiceGroup`.
    public nonisolated var service: EventHostService { EventHostService(self) }
}
#endif
