#if Hummingbird
internal import HTTPTypes
internal import Holdfast
public import Hummingbird
internal import Synchronization

/// Calls fault boundaries by the route of the request, such as `GET /users/{id}`, and refuses routes that have faulted too often.
///
/// ```swift
/// router.add(middleware: RouteLabels())
/// ```
///
/// Without it a boundary of `withFaultBoundaries(answer:)` is called by the method, because the route is known only inside. With it a route
/// that faults 50 times within a minute (`FaultBudget.perLabel`) is answered by status 503 with `Retry-After` for a while
/// (`Configuration.Advanced.quarantine`), instead of a restart of the process when its own budget is spent. Add it first, to a `Router`: a
/// `RouterBuilder` tells no route to its middleware.
public struct RouteLabels<Context: RequestContext>: RouterMiddleware {
    private let labels = KnownRoutes()

    /// Makes the middleware.
    public init() {}

    /// Gives the request's boundary its label, and calls the next middleware.
    @concurrent public func handle(
        _ request: Request,
        context: Context,
        next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        // A path without a route is a client's, and has none.
        if let route = context.coreContext.endpointPath.value {
            try FaultBoundary.setLabel(labels.label(request.method, route))
        }
        return try await next(request, context)
    }
}

/// The labels of the routes that were asked for.
private final class KnownRoutes: Sendable {
    /// By route, one table for each method: a request costs one hash.
    ///
    /// Not more than the program has routes.
    private struct Tables {
        var get: [String: FaultBoundary.Label] = [:]
        var post: [String: FaultBoundary.Label] = [:]
        var others: [HTTPRequest.Method: [String: FaultBoundary.Label]] = [:]
    }

    /// Protected by its lock.
    private let tables = Mutex(Tables())

    func label(_ method: HTTPRequest.Method, _ route: String) -> FaultBoundary.Label {
        tables.withLock { tables in
            switch method {
            case .get: Self.label(method, route, &tables.get)
            case .post: Self.label(method, route, &tables.post)
            default: Self.label(method, route, &tables.others[method, default: [:]])
            }
        }
    }

    private static func label(
        _ method: HTTPRequest.Method,
        _ route: String,
        _ labels: inout [String: FaultBoundary.Label]
    ) -> FaultBoundary.Label {
        if let label = labels[route] { return label }
        let label = FaultBoundary.Label("\(method.rawValue) \(route)")
        labels[route] = label
        return label
    }
}
#endif
