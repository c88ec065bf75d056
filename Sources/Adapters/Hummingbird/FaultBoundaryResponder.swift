#if Hummingbird
internal import HTTPTypes
@_exported public import Holdfast
public import Hummingbird
public import HummingbirdCore
internal import Logging
internal import NIOCore

/// Answers each request in a fault boundary of its own: a fault in it costs the request, and nobody else notices.
///
/// `HTTPResponder.withFaultBoundaries(_:)` and `ApplicationProtocol.withFaultBoundaries(_:)` make one.
public struct FaultBoundaryResponder<Inner: HTTPResponder>: HTTPResponder {
    /// What makes the answer to a request whose handler has faulted.
    public typealias Answer = @Sendable (FaultError, Request) -> Response

    private let inner: Inner
    private let answer: Answer
    /// Whether clients are told to come back by another connection when another process has taken over: HTTP/2 has no such header.
    private let endsConnections: Bool

    /// Wraps a responder.
    ///
    /// - Parameters:
    ///   - inner: The responder.
    ///   - answer: What makes the answer to a request whose handler has faulted.
    public init(_ inner: Inner, answer: @escaping Answer) {
        self.init(inner, answer: answer, endsConnections: false)
    }

    init(_ inner: Inner, answer: @escaping Answer, endsConnections: Bool) {
        self.inner = inner
        self.answer = answer
        self.endsConnections = endsConnections
    }

    /// Answers a request; what it throws is what the wrapped responder throws.
    @Sendable public func respond(to request: Request, context: Inner.Context) async throws -> Response {
        let label = label(of: request.method)
        let work = Work(inner, request, context, label)
        var response: Response
        do {
            try await runInBoundary(label.described(by: work.tags)) { try await work.respond() }
            guard let answered = work.takeResponse() else { fatalError("a request was answered by nothing") }
            response = answered
        } catch let fault as FaultError {
            response = answer(fault, request)
        }
        if endsConnections, EventHost.isBeingReplaced { response.headers[.connection] = "close" }
        return response
    }
}

/// What a handler gets, and what it answers.
///
/// The caller does not touch it while the handler has it, nor after the handler was abandoned.
private final class Work<Inner: HTTPResponder>: @unchecked Sendable {
    private let inner: Inner
    private let request: Request
    private let context: Inner.Context
    private let label: FaultBoundary.Label
    private var response: Response?

    init(_ inner: Inner, _ request: Request, _ context: Inner.Context, _ label: FaultBoundary.Label) {
        self.inner = inner
        self.request = request
        self.context = context
        self.label = label
    }

    func respond() async throws {
        var response = try await inner.respond(to: request, context: context)
        // It runs when the responder is done.
        if response.body.isCode { response.body = protect(response.body) }
        self.response = consume response
    }

    /// The answer, moved rather than copied.
    func takeResponse() -> Response? {
        var taken: Response?
        swap(&taken, &response)
        return taken
    }

    /// The body, written in a boundary of its own.
    ///
    /// Its fault ends the connection: the client sees that the answer is cut off.
    private func protect(_ body: ResponseBody) -> ResponseBody {
        // Its head is with the client: a refusal would cut it off.
        let label = (FaultBoundary.current ?? label).begun.described(by: tags)
        return ResponseBody(contentLength: body.contentLength) { writer in
            let place = WriterPlace(writer: writer)
            try await withFaultBoundary(label) { try await body.write(place.writer) }
        }
    }

    @Sendable func tags() -> [String: String] {
        // The names of OpenTelemetry's semantic conventions for HTTP.
        var tags = ["http.request.method": request.method.rawValue, "url.path": request.uri.path]
        guard let context = context as? any RequestContext else { return tags }
        // What the router has found out meanwhile. It has a lock of its own, so it may be read while an abandoned handler's children run.
        tags["http.route"] = context.coreContext.endpointPath.value
        // While a body is written there is no task-local logger.
        tags[requestID] = context.logger[metadataKey: requestID].map { "\($0)" }
        return tags
    }
}

/// The same for what a body is written to.
private struct WriterPlace: @unchecked Sendable {
    let writer: any ResponseBodyWriter
}

/// Made once: their texts do not come from clients.
private let getLabel = FaultBoundary.Label(ofMany: "GET")
private let postLabel = FaultBoundary.Label(ofMany: "POST")
private let otherLabels: [HTTPRequest.Method: FaultBoundary.Label] = Dictionary(
    uniqueKeysWithValues: [.head, .put, .delete, .connect, .options, .trace, .patch].map {
        (method: HTTPRequest.Method) in (method, FaultBoundary.Label(ofMany: method.rawValue))
    }
)
private let unusualMethod = FaultBoundary.Label(ofMany: "unusual method")

private func label(of method: HTTPRequest.Method) -> FaultBoundary.Label {
    if method == .get { return getLabel }
    if method == .post { return postLabel }
    return otherLabels[method] ?? unusualMethod
}

private let requestID = "hb.request.id"

extension HTTPResponder {
    /// The same responder, with each request in a fault boundary of its own.
    ///
    /// A resumed fault is answered by status 500 with the header `x-crash-report`: the id of its report, whose tags have the request's
    /// method, path, route and id. If code that writes a body faults, the connection is closed.
    ///
    /// - Parameter answer: Makes another answer. It gets the request, whose body may have been read in part.
    /// - Returns: The responder, for `Application(responder:)`.
    public func withFaultBoundaries(
        answer: @escaping FaultBoundaryResponder<Self>.Answer = { fault, _ in .internalServerError(fault) }
    ) -> FaultBoundaryResponder<Self> {
        FaultBoundaryResponder(self, answer: answer)
    }
}

extension Response {
    /// The answer to a request whose handler has faulted: status 500 with the id of the report.
    ///
    /// - Parameter fault: The fault.
    /// - Returns: The answer.
    public static func internalServerError(_ fault: FaultError) -> Response {
        let report = fault.report.map { "\($0)" }
        let text = "internal server error" + (report.map { ", report \($0)" } ?? "")
        return Response(plain: text, .internalServerError, reportHeader, report)
    }

    /// A line of text with a header, unless that has no value.
    fileprivate init(plain text: String, _ status: HTTPResponse.Status, _ name: HTTPField.Name?, _ value: String?) {
        var headers: HTTPFields = [.contentType: "text/plain; charset=utf-8"]
        if let name { headers[name] = value }
        let body = ResponseBody(byteBuffer: ByteBuffer(string: text + "\n"))
        self.init(status: status, headers: headers, body: body)
    }
}

extension FaultError: HTTPResponseError {
    /// 500: for a boundary of your own in a handler that catches nothing.
    public var status: HTTPResponse.Status { .internalServerError }

    /// The answer with the report's id; within `withFaultBoundaries(answer:)` the error itself, which gets the answer from there.
    public func response(from request: Request, context: some RequestContext) throws -> Response {
        if FaultBoundary.label != nil { throw self }
        return .internalServerError(self)
    }
}

extension FaultBoundary.QuarantineError: HTTPResponseError {
    /// 503.
    public var status: HTTPResponse.Status { .serviceUnavailable }

    /// The answer, with `Retry-After`.
    public func response(from request: Request, context: some RequestContext) -> Response {
        let seconds = retryAfter.map { "\($0.roundedUpToSeconds)" }
        return Response(plain: "this route is not served at the moment", status, .retryAfter, seconds)
    }
}

private let reportHeader = HTTPField.Name("x-crash-report")
#endif
