import FaultInjection
import Glibc
import HoldfastHummingbird
import Hummingbird
import NIOCore
import Synchronization

/// Counts what was asked.
let requests = Atomic<Int>(0)

/// A request's context, with the connection that it came by.
struct ExampleContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}

/// Routes that answer, and routes that fault in all the places where a handler's code may be.
func makeRouter(_ host: EventHost?) -> Router<ExampleContext> {
    let router = Router(context: ExampleContext.self)
    if host != nil { router.add(middleware: RouteLabels()) }
    router.addMiddleware { Counting() }
    router.get("ok") { _, _ in "fine\n" }
    router.get("fault/:name") { _, context in
        try commit(context)
        return "no fault\n"
    }
    router.get("await/:name") { _, context in try await showUser(try fault(context)) }
    router.get("child/:name") { _, context in
        let fault = try fault(context)
        return await withTaskGroup(of: Int.self) { group in
            group.addTask { 1 }
            group.addTask {
                // Until the group waits for it.
                try? await Task.sleep(for: .milliseconds(1))
                fault.commit()
                return 2
            }
            return "\(await group.reduce(0, +))\n"
        }
    }
    router.get("let/:name") { _, context in
        let fault = try fault(context)
        async let number = query(fault)
        async let other = 1
        return "\(await number + other)\n"
    }
    router.get("discard/:name") { _, context in
        let fault = try fault(context)
        await withDiscardingTaskGroup { group in
            group.addTask {}
            group.addTask { fault.commit() }
        }
        return "no fault\n"
    }
    router.get("collect/:name") { request, context in
        let fault = try fault(context)
        let bytes = try await request.body.collect(upTo: 1 << 16)
        fault.commit()
        return "no fault after \(bytes.readableBytes) bytes\n"
    }
    router.get("answer/:name") { _, context in Answer(fault: try fault(context)) }
    router.get("stream/:name") { _, context in
        let fault = try fault(context)
        let (numbers, continuation) = AsyncStream.makeStream(of: Int.self)
        for number in 1...3 { continuation.yield(number) }
        continuation.finish()
        for await number in numbers where number == 3 { fault.commit() }
        return "no fault\n"
    }
    router.get("deinit/:name") { _, context in
        _ = Last(try fault(context))
        return "no fault\n"
    }
    router.get("nested/:name") { _, context in
        let fault = try fault(context)
        do {
            return try await withFaultBoundary("nested") {
                fault.commit()
                return "no fault\n"
            }
        } catch is FaultError {
            return "only the inner one\n"
        }
    }
    router.group("middleware").add(middleware: Faulting()).get(":name") { _, _ in "no fault\n" }
    // The answer has begun when it faults: the connection is closed.
    // Of unknown length, or with "?sized" of a known one.
    router.get("body/:name") { request, context in
        let fault = try fault(context)
        return Response(
            status: .ok,
            body: ResponseBody(contentLength: request.uri.query == "sized" ? 100 : nil) { writer in
                for number in 1...3 { try await writer.write(ByteBuffer(string: "\(number)\n")) }
                fault.commit()
                try await writer.finish(nil)
            }
        )
    }
    router.get("actor/:name") { _, context in
        await Warehouse.shared.count(try fault(context))
    }
    router.get("loop/:name") { _, context in
        let fault = try fault(context)
        return try await context.channel.eventLoop.submit {
            fault.commit()
            return "no fault\n"
        }.get()
    }
    addStalls(to: router)
    router.get("sleep/:milliseconds") { _, context in
        let milliseconds = try context.parameters.require("milliseconds", as: Int.self)
        try await Task.sleep(for: .milliseconds(milliseconds))
        return "slept\n"
    }
    router.get("stats") { _, _ in
        let (resumed, restarts) = await MainActor.run { (host?.statistics.resumedFaults ?? 0, host?.restarts ?? 0) }
        let count = requests.load(ordering: .relaxed)
        return """
            {"pid": \(getpid()), "requests": \(count), "faultsResumed": \(resumed), "restarts": \(restarts)}

            """
    }
    return router
}

struct Counting<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        requests.add(1, ordering: .relaxed)
        return try await next(request, context)
    }
}

/// Faults before the route's own code.
struct Faulting: RouterMiddleware {
    func handle(
        _ request: Request,
        context: ExampleContext,
        next: (Request, ExampleContext) async throws -> Response
    ) async throws -> Response {
        try commit(context)
        return try await next(request, context)
    }
}

/// Faults when the answer is made of it.
struct Answer: ResponseGenerator {
    let fault: Fault

    func response(from request: Request, context: some RequestContext) throws -> Response {
        fault.commit()
        return Response(status: .ok)
    }
}

/// Faults at the end of its life.
final class Last {
    private let fault: Fault

    init(_ fault: Fault) {
        self.fault = fault
    }

    deinit { fault.commit() }
}

func fault(_ context: ExampleContext) throws -> Fault {
    let name = try context.parameters.require("name")
    guard let fault = Fault(rawValue: name) else { throw HTTPError(.notFound, message: "no fault is called \(name)") }
    return fault
}

func commit(_ context: ExampleContext) throws {
    try fault(context).commit()
}

// Three functions deep, after a suspension.

@inline(never)
func showUser(_ fault: Fault) async throws -> String {
    let user = try await loadUser(fault)
    return "user \(user)\n"
}

@inline(never)
func loadUser(_ fault: Fault) async throws -> Int {
    try await Task.sleep(for: .milliseconds(1))
    let rows = await query(fault)
    return rows + 1
}

@inline(never)
func query(_ fault: Fault) async -> Int {
    await Task.yield()
    fault.commit()
    return 1
}

actor Warehouse {
    static let shared = Warehouse()
    private var counted = 0

    func count(_ fault: Fault) -> String {
        counted += 1
        fault.commit()
        return "\(counted)\n"
    }
}
