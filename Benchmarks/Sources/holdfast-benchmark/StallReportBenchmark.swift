import Glibc
import Holdfast

/// How soon the report of a stall is on the disk.
@MainActor
struct StallReportBenchmark {
    let stalls: Int

    private static let threshold = Duration.milliseconds(40)
    /// What the report of a stall has, about.
    private static let reportBytes = 64 << 10

    func rows() throws -> [Row] {
        Progress.say("reports")
        let host = try BenchmarkHost.host(stalls: StallPolicy(rule: .once(after: Self.threshold)))
        defer { BenchmarkHost.end() }
        let thread = try HostRunLoop.LoopThread(name: "stalls")
        try host.watch(thread.loop)
        defer {
            thread.stop()
            thread.join()
        }
        let first = try delay(thread.loop)
        var delays: [Double] = []
        for number in 0..<stalls {
            Progress.say("report \(number + 1) of \(stalls)")
            delays.append(try delay(thread.loop))
        }
        let bytes = [UInt8](repeating: 0x20, count: Self.reportBytes)
        let writes = try DurableWrite.measure(bytes, in: BenchmarkHost.storePath, count: stalls)
        let alone = ("as many bytes alone, as durable", writes.median)
        return [
            Row("threshold to report on disk, p50", Sample(delays).median, peer: alone),
            Row("threshold to report on disk, p99", Sample(delays).percentile(99), peer: alone),
            Row("threshold to the first report of a process", first, peer: alone),
        ]
    }

    /// From the moment when a callout has lasted as long as the threshold to that when its report has its name, in nanoseconds.
    private func delay(_ loop: HostRunLoop) throws -> Double {
        // The end of the stall before is in the store by then.
        BenchmarkHost.settle()
        let begin = try loop.performAndWait {
            guard let watch = FolderWatch(BenchmarkHost.storePath + "/reports") else { return nil as (Double, Double)? }
            let begin = now()
            return watch.await(suffix: ".json") ? (begin, now()) : nil
        }
        guard let (begin, end) = begin else { throw MeasurementError("a stall had no report") }
        return end - begin - Self.threshold / .nanoseconds(1)
    }
}
