import Foundation
import HoldfastMetrics
import HoldfastNIO
import HoldfastServiceLifecycle
import HoldfastTracing
import InMemoryTracing
import Logging
import Metrics
import MetricsTestKit
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization
import Tracing

/// Faults beside each adapter, and says what came of it.
///
/// `adapters-probe STORE` exits 1 if anything is not as it must be.
@main struct AdaptersProbe {
    static func main() async throws {
        let metrics = TestMetrics()
        let tracer = InMemoryTracer()
        MetricsSystem.bootstrap(metrics)
        InstrumentationSystem.bootstrap(tracer)
        let host = try await MainActor.run {
            var configuration = EventHost.Configuration.keepServing
            configuration.store = CommandLine.arguments[1]
            configuration.stallPolicy = StallPolicy(rule: .once(after: .milliseconds(200)))
            let host = try EventHost.start(configuration)
            host.countFaults(measuresBoundaries: true)
            return host
        }
        host.traceFaults()
        try await connections()
        await spans(tracer)
        try await eventLoop(host, metrics)
        await numbers(host, metrics)
        try await group(host)
        print("done")
        exit(failures == 0 ? 0 : 1)
    }

    nonisolated(unsafe) static var failures = 0

    static func check(_ what: String, _ isTrue: Bool) {
        print("\(what): \(isTrue ? "ok" : "FAILED")")
        if !isTrue { failures += 1 }
    }

    // MARK: NIO

    static func connections() async throws {
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        let port = server.channel.localAddress?.port ?? 0
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.executeThenClose { connections in
                    try await withThrowingDiscardingTaskGroup { group in
                        for try await connection in connections {
                            group.addTask {
                                try? await connection.executeThenClose(boundary: "echo") { inbound, outbound in
                                    for try await line in inbound {
                                        precondition(String(buffer: line) != "fault")
                                        try await outbound.write(line)
                                    }
                                }
                            }
                        }
                    }
                }
            }
            try await client(port).executeThenClose { inbound, outbound in
                var answers = inbound.makeAsyncIterator()
                try await outbound.write(ByteBuffer(string: "hello"))
                check("a connection is served", try await answers.next().map { String(buffer: $0) } == "hello")
                try? await client(port).executeThenClose { inbound, outbound in
                    var answers = inbound.makeAsyncIterator()
                    try await outbound.write(ByteBuffer(string: "fault"))
                    check("another one faults and is closed", try await answers.next() == nil)
                }
                try await outbound.write(ByteBuffer(string: "again"))
                check("the first one goes on", try await answers.next().map { String(buffer: $0) } == "again")
            }
            group.cancelAll()
        }
    }

    private static func client(_ port: Int) async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
    }

    static func eventLoop(_ host: EventHost, _ metrics: TestMetrics) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let (stalls, continuation) = AsyncStream.makeStream(of: String?.self)
        // How many were counted when one was told of that lasts, and when it was over.
        let counts = Mutex<[[Int64]]>([[], []])
        await MainActor.run {
            _ = host.onStall { stall in
                let count = metrics.counterTotal(label: "holdfast_stalls_total")
                counts.withLock { $0[stall.phase == .over ? 1 : 0].append(count) }
                if stall.phase == .over { continuation.yield(stall.ping) }
            }
        }
        try host.watch(loop, label: "event loop", every: .milliseconds(10))
        var ends = stalls.makeAsyncIterator()
        // After the first stall it has answered, so that its thread is known.
        for _ in 1...2 {
            try await loop.submit { hog() }.get()
            while await ends.next() != "event loop" {}
        }
        check("an event loop that is kept is a stall", true)
        let (found, over) = counts.withLock { ($0[0], $0[1]) }
        // A busy machine may have others.
        let isCounted = found.count >= 2 && found == (1...found.count).map(Int64.init) && over.last == found.last
        check("stalls are counted when they are found, once", isCounted)
        host.stopWatching(pinging: "event loop")
    }

    @inline(never) static func hog() {
        let end = ContinuousClock.now.advanced(by: .seconds(1))
        while ContinuousClock.now < end {}
    }

    // MARK: Traces

    static func spans(_ tracer: InMemoryTracer) async {
        var report = ""
        await withSpan("request") { _ in
            do {
                try await withFaultBoundary("traced") {
                    try await withSpan("query") { _ in
                        await Task.yield()
                        precondition(CommandLine.arguments.isEmpty)
                    }
                }
            } catch let fault as FaultError {
                report = fault.report.map { "\($0)" } ?? "none"
            } catch {}
        }
        let query = tracer.finishedSpans.first { $0.operationName == "query" }
        check("the span that faulted has ended", query != nil)
        check("with an error", query?.status?.code == .error)
        check(
            "and an event that names the report",
            query?.events.first?.attributes["crash.report"]?.toSpanAttribute() == .string(report)
        )
        print("report \(report) trace \(query?.traceID ?? "none")")
    }

    // MARK: Metrics

    static func numbers(_ host: EventHost, _ metrics: TestMetrics) async {
        // The main loop tells of a fault after its caller has gone on.
        while await MainActor.run(body: { host.statistics.resumedFaults }) < 2 { await Task.yield() }
        while metrics.counterTotal(label: "holdfast_faults_total") < 2 { await Task.yield() }
        check(
            "faults are counted",
            metrics.counterTotal(label: "holdfast_faults_total", dimensions: [("outcome", "resumed")]) == 2
        )
        let dimensions = [("boundary", "traced"), ("outcome", "faulted")]
        check(
            "boundaries are timed",
            metrics.timers(label: "holdfast_boundary_duration", dimensions: dimensions).count == 1
        )
        check("lost bytes are told", !metrics.recorders(label: "holdfast_lost_bytes").isEmpty)
    }

    // MARK: Service group

    struct Worker: Service {
        func run() async throws { try await gracefulShutdown() }
    }

    static func group(_ host: EventHost) async throws {
        let group = ServiceGroup(services: [Worker(), host.service], logger: Logger(label: "group"))
        async let end: Void = group.run()
        await group.triggerGracefulShutdown()
        try await end
        do {
            try await withFaultBoundary("after") { precondition(CommandLine.arguments.isEmpty) }
        } catch let fault as FaultError {
            check("boundaries protect to the end", fault.boundary == "after")
        }
    }
}
