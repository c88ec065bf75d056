import Holdfast
import Hummingbird

/// Answers each request in a fault boundary: a fault costs the request, which is answered by status 500.
struct Protected<Inner: HTTPResponder>: HTTPResponder where Inner.Context: Sendable {
    let inner: Inner

    func respond(to request: Request, context: Inner.Context) async throws -> Response {
        do {
            return try await withFaultBoundary("\(request.method) \(request.uri.path.prefix(6))") { [inner] in
                try await inner.respond(to: request, context: context)
            }
        } catch let fault as FaultError {
            return Response(
                status: .internalServerError,
                headers: [.init("x-crash-report")!: fault.report.rawValue],
                body: .init(byteBuffer: ByteBuffer(string: "a fault, report \(fault.report)\n"))
            )
        }
    }
}
