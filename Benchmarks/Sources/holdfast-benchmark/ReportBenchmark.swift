import FaultInjection
import Glibc
import Holdfast

/// How long it takes from a fault to its report: symbolicated, in the store, and sure to be there after a power failure.
@MainActor
struct ReportBenchmark {
    /// In nanoseconds.
    struct Result {
        /// By a process that has written one before.
        let warm: Sample
        /// The first report of a process, from the request that faults.
        let first: Sample
        /// One of many that come at once, each of another item.
        let each: Double
        /// Swift's own backtracer on the same fault of the same agent without Holdfast, from the request to the end of the process.
        let backtracer: Sample?
    }

    let agent: String
    let rounds: Int
    /// Fewer than are folded into one.
    private static let burst = 30

    func measure() throws -> Result {
        let first = try firstReports()
        let backtracer = try? backtraces()
        let host = try BenchmarkHost.host()
        let times = try (0...rounds).map { try report(label: "item \($0)", on: host) }
        // The first sets up what the rest find ready.
        let bursts = try (0..<max(3, rounds / 10)).map { _ in try flood(on: host) }
        return Result(
            warm: Sample(Array(times.dropFirst())),
            first: first,
            each: Sample(bursts).median,
            backtracer: backtracer
        )
    }

    private func report(label: String, on host: EventHost) throws -> Double {
        let begin = now()
        fault(label: label, on: host)
        guard host.flushReports(within: .seconds(10)) else { throw MeasurementError("no report in ten seconds") }
        defer { Self.empty() }
        return now() - begin
    }

    private func flood(on host: EventHost) throws -> Double {
        let begin = now()
        for number in 0..<Self.burst { fault(label: "flood \(number)", on: host) }
        guard host.flushReports(within: .seconds(60)) else { throw MeasurementError("no reports in a minute") }
        defer { Self.empty() }
        return (now() - begin) / Double(Self.burst)
    }

    /// After each measurement: the 33rd report of a fault would only be counted in another.
    private static func empty() { ProcFile.empty(BenchmarkHost.storePath + "/reports") }

    private func fault(label: String, on host: EventHost) {
        let mode: HostRunLoop.Mode = "benchmark"
        let source = HostRunLoop.Source(label: label) { _ in Fault.nilUnwrap.commit() }
        host.loop.add(source, to: mode)
        source.signal()
        _ = host.loop.run(in: mode, for: .zero)
        source.invalidate()
    }

    // MARK: Other processes

    private func firstReports() throws -> Sample {
        var times: [Double] = []
        for _ in 0..<max(5, rounds / 10) {
            let process = try AgentProcess(executable: agent, arguments: ["--after-fault", "keep-going"])
            defer { process.end() }
            try process.ask("PING")
            guard let watch = FolderWatch(process.store + "/reports") else { throw MeasurementError("no store") }
            let begin = now()
            process.exchange("FAULT nil-unwrap")
            guard watch.await(suffix: ".json") else { throw MeasurementError("no report in ten seconds") }
            times.append(now() - begin)
        }
        return Sample(times)
    }

    private func backtraces() throws -> Sample {
        var times: [Double] = []
        let output = "/tmp/holdfast-benchmark-backtrace-\(getpid())"
        defer { unsafe unlink(output) }
        for _ in 0..<max(5, rounds / 20) {
            let process = try AgentProcess(
                executable: agent,
                arguments: ["--unprotected"],
                backtracer: "enable=yes,interactive=no,color=no,output-to=\(output)"
            )
            try process.ask("PING")
            let begin = now()
            process.exchange("FAULT nil-unwrap")
            times.append(now() - begin)
            process.end()
            var status = stat()
            guard unsafe stat(output, &status) == 0, status.st_size > 0 else {
                throw MeasurementError("the backtracer wrote nothing")
            }
            unsafe unlink(output)
        }
        return Sample(times)
    }

    // MARK: Rows

    /// The names of the rows, in their order.
    nonisolated static let names = [
        "nil unwrap to durable report, warm", "nil unwrap to durable report, warm, p99",
        "nil unwrap to durable report, first of a process", "a durable report, of many at once",
    ]

    nonisolated static func rows(_ result: Result) -> [Row] {
        let peers = [Row.Peer(name: "Swift's backtracer", value: result.backtracer?.median)]
        return [
            Row(names[0], result.warm.median, peers: peers),
            Row(names[1], result.warm.percentile(99), peers: peers),
            Row(names[2], result.first.median, peers: peers),
            Row(names[3], result.each, peers: peers),
        ]
    }
}
