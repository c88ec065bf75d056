import FaultInjection
import Foundation
import Holdfast
import Logging

/// Measures fault boundaries, one row per process: `boundary-benchmark ROW COUNT [EXTRA]`.
///
/// The rows are described in Documentation/Benchmarks.md; holdfast-benchmark calls this program.
@main
enum BoundaryRows {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count >= 3, let count = Int(words[2]), count > 0 else { fail("usage: ROW COUNT [EXTRA]") }
        let extra = words.count > 3 ? Int(words[3]) ?? 0 : 0
        // On a thread of the pool, as a server's requests are.
        switch words[1] {
        case "task": await Task.detached { await tasks("task", count) }.value
        case "pool-task": try await withHost { _ in await tasks("pool-task", count) }
        case "boundary": try await withHost { _ in try await boundaries(count) }
        case "fault": try await withHost { host in try await faults(count, awaits: extra, host) }
        default: fail("no such row")
        }
    }

    private static func fail(_ text: String) -> Never {
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
        exit(1)
    }

    private static func withHost(_ body: @escaping @Sendable (EventHost) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "holdfast-boundary-\(getpid())")
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = EventHost.Configuration.keepServing
        configuration.store = folder.path
        configuration.budget = .generous
        configuration.advanced.quarantine = nil
        configuration.logger.logLevel = .error
        let host = try await MainActor.run { try EventHost.start(configuration) }
        try await Task.detached { try await body(host) }.value
        await MainActor.run { host.close() }
    }

    /// What stands for the work of a request: it cannot be known when the call is compiled.
    @inline(never)
    private static func work(_ number: Int) async -> Int { number & 1 }

    // MARK: Nothing goes wrong

    @concurrent private static func tasks(_ name: String, _ count: Int) async {
        var sum = 0
        for round in [min(count, 300), count] {
            let start = now()
            for index in 0..<round { sum += await Task { await work(index) }.value }
            if round == count { print(name, Double(now() - start) / Double(count)) }
        }
        check(sum)
    }

    @concurrent private static func boundaries(_ count: Int) async throws {
        let label: FaultBoundary.Label = "benchmark"
        var sum = 0
        for round in [min(count, 300), count] {
            let start = now()
            for index in 0..<round { sum += try await withFaultBoundary(label) { await work(index) } }
            if round == count { print("boundary", Double(now() - start) / Double(count)) }
        }
        check(sum)
    }

    private static func check(_ sum: Int) { if sum < 0 { fail("\(sum)") } }

    // MARK: Faults

    /// From the fault to the `FaultError`, in microseconds.
    @concurrent private static func faults(_ count: Int, awaits: Int, _ host: EventHost) async throws {
        var times: [Double] = []
        let clock = FaultClock()
        for _ in 0..<count {
            do {
                _ = try await withFaultBoundary("benchmark") { await descend(awaits, clock) }
                fail("a fault was none")
            } catch is FaultError {
                times.append(Double(now() - clock.start) / 1e3)
            }
            // How fast reports are written is another question.
            await MainActor.run { _ = host.flushReports(within: .seconds(5)) }
        }
        let sorted = times.dropFirst(count / 10).sorted()
        print("median", sorted[sorted.count / 2])
        print("p99", sorted[sorted.count * 99 / 100])
    }

    /// When the last fault began.
    ///
    /// Protected by: one fault at a time, which the caller of its boundary awaits.
    private final class FaultClock: @unchecked Sendable {
        var start: Int64 = 0
    }

    @inline(never)
    private static func descend(_ awaits: Int, _ clock: FaultClock) async -> Int {
        guard awaits > 0 else {
            clock.start = now()
            Fault.nilUnwrap.commit()
            return 0
        }
        return await descend(awaits - 1, clock) + 1
    }

    private static func now() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
