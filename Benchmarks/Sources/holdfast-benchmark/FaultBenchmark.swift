import FaultInjection
import Glibc
import Holdfast

/// How long it takes from a fault to the next callout of the same loop.
@MainActor
struct FaultBenchmark {
    /// Times from the fault to the next callout, in nanoseconds.
    struct Result {
        let trap: Sample
        let nullWrite: Sample
        /// Nil unwraps under so many frames of a recursion: each alone, long after the one before.
        let byDepth: [(depth: Int, sample: Sample)]
        /// The same, soon after the one before: what the processor needs is in its caches.
        let warmByDepth: [(depth: Int, sample: Sample)]
    }

    let rounds: Int
    private nonisolated static let depths = [8, 32, 128]

    func measure() throws -> Result {
        let host = try BenchmarkHost.host()
        return Result(
            trap: sample(.nilUnwrap, depth: 0, on: host),
            nullWrite: sample(.nullWrite, depth: 0, on: host),
            byDepth: Self.depths.map { ($0, sample(.nilUnwrap, depth: $0, on: host)) },
            warmByDepth: Self.depths.map { ($0, sample(.nilUnwrap, depth: $0, inBurstsOf: 25, on: host)) }
        )
    }

    private func sample(_ fault: Fault, depth: Int, inBurstsOf burst: Int = 1, on host: EventHost) -> Sample {
        var times: [Double] = []
        nonisolated(unsafe) var end = 0.0
        let faulting = HostRunLoop.Source(label: "faults", order: 0) { _ in descend(depth, to: fault) }
        let next = HostRunLoop.Source(label: "is next", order: 1) { _ in unsafe end = now() }
        let mode: HostRunLoop.Mode = "benchmark"
        host.loop.add(faulting, to: mode)
        host.loop.add(next, to: mode)
        for round in 0..<rounds {
            faulting.signal()
            next.signal()
            _ = host.loop.run(in: mode, for: .zero)
            unsafe times.append(end - start)
            // How fast reports are written is another question.
            if round % burst == burst - 1 { host.flushReports(within: .seconds(5)) }
            // An agent is idle for a moment sooner or later: then its loop makes ready for the next fault.
            _ = host.loop.run(in: mode, for: .microseconds(200))
        }
        faulting.invalidate()
        next.invalidate()
        // The first ones set up what the rest find ready.
        return Sample(Array(times.dropFirst(times.count / 10)))
    }

    /// The names of the rows, in their order.
    nonisolated static let names =
        [
            "nil unwrap to next callout", "nil unwrap to next callout, p99", "null write to next callout",
            "null write to next callout, p99",
        ]
        + depths.flatMap { ["nil unwrap \($0) frames deep to next callout", "nil unwrap \($0) frames deep, p99"] }
        + depths.flatMap { ["nil unwrap \($0) frames deep, warm", "nil unwrap \($0) frames deep, warm, p99"] }
        + ["restart in place, fault to first answer", "start of the agent, to listening"]

    /// Puts the figures into rows.
    ///
    /// - Parameters:
    ///   - faults: Coming back from a fault.
    ///   - restarts: Beginning anew.
    ///   - jump: The least that coming back can take.
    /// - Returns: A row for each of the names.
    nonisolated static func rows(_ faults: Result, _ restarts: RestartBenchmark.Result, jump: Sample) -> [Row] {
        let restart = Row.Peer(name: "restart, to first answer", value: restarts.spawn.median)
        let limit = Row.Peer(name: "signal and jump alone", value: jump.median)
        let samples = [faults.trap, faults.nullWrite] + faults.byDepth.map(\.sample) + faults.warmByDepth.map(\.sample)
        var rows: [Row] = []
        for (index, sample) in samples.enumerated() {
            let peers = index == 1 ? [restart] : [restart, limit]
            rows.append(Row(names[2 * index], sample.median, peers: peers))
            rows.append(
                Row(
                    names[2 * index + 1],
                    sample.percentile(99),
                    peers: index == 1 ? [] : [Row.Peer(name: limit.name, value: jump.percentile(99))]
                )
            )
        }
        let hello = Row.Peer(name: "Swift hello world", value: restarts.hello.median)
        return rows + [
            Row(names[2 * samples.count], restarts.inPlace.median, peers: [restart]),
            Row(names[2 * samples.count + 1], restarts.start.median, peers: [hello]),
        ]
    }
}

/// When the last fault began.
///
/// Protected by: one thread.
private nonisolated(unsafe) var start = 0.0

/// Commits a fault under so many calls of itself.
@inline(never)
private func descend(_ depth: Int, to fault: Fault) {
    guard depth > 0 else {
        unsafe start = now()
        fault.commit()
        return
    }
    descend(depth - 1, to: fault)
    // After the call, so that it is one: the optimiser makes a loop of the last thing that a function does.
    unsafe start = 0
}
