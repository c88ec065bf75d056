import FaultInjection
import Glibc
import Holdfast
import Logging
import SystemPackage

/// How long it takes from a fault to the next callout of the same loop.
@MainActor
struct FaultBenchmark {
    /// Times from the fault to the next callout, in nanoseconds.
    struct Result {
        let trap: Sample
        let nullWrite: Sample
    }

    let rounds: Int

    func measure() throws -> Result {
        let store = "/tmp/holdfast-benchmark-\(getpid())"
        defer { Self.remove(store) }
        var configuration = EventHost.Configuration()
        configuration.store = FilePath(store)
        configuration.budget = .generous
        configuration.afterFault = .keepGoing
        configuration.logger.logLevel = .error
        let host = try EventHost(configuration)
        let result = Result(trap: sample(.nilUnwrap, on: host), nullWrite: sample(.nullWrite, on: host))
        host.close()
        return result
    }

    private func sample(_ fault: Fault, on host: EventHost) -> Sample {
        var times: [Double] = []
        nonisolated(unsafe) var start = 0.0
        nonisolated(unsafe) var end = 0.0
        let faulting = HostRunLoop.Source(label: "faults", order: 0) {
            unsafe start = now()
            fault.commit()
        }
        let next = HostRunLoop.Source(label: "is next", order: 1) { unsafe end = now() }
        let mode: HostRunLoop.Mode = "benchmark"
        host.loop.add(faulting, to: mode)
        host.loop.add(next, to: mode)
        for _ in 0..<rounds {
            faulting.signal()
            next.signal()
            _ = host.loop.run(in: mode, for: .zero)
            unsafe times.append(end - start)
            // Each fault alone: how fast reports are written is another question.
            host.flushReports(within: .seconds(5))
        }
        faulting.invalidate()
        next.invalidate()
        // The first ones set up what the rest find ready.
        return Sample(Array(times.dropFirst(times.count / 10)))
    }

    /// The names of the rows, in their order.
    nonisolated static let names = [
        "nil unwrap to next callout",
        "nil unwrap to next callout, p99",
        "null write to next callout",
        "null write to next callout, p99",
        "restart in place, fault to first answer",
    ]

    nonisolated static func rows(_ faults: Result, _ restarts: RestartBenchmark.Result) -> [Row] {
        let restart = (name: "restart, to first answer", value: restarts.spawn.median)
        return [
            Row(names[0], faults.trap.median, peer: restart),
            Row(names[1], faults.trap.percentile(99)),
            Row(names[2], faults.nullWrite.median, peer: restart),
            Row(names[3], faults.nullWrite.percentile(99)),
            Row(names[4], restarts.inPlace.median, peer: restart),
        ]
    }

    nonisolated static func remove(_ folder: String) {
        for name in ["reports", "spool"] {
            let path = folder + "/" + name
            guard let entries = unsafe opendir(path) else { continue }
            while let entry = unsafe readdir(entries) {
                let file = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
                _ = unsafe unlink(path + "/" + file)
            }
            unsafe closedir(entries)
            _ = unsafe rmdir(path)
        }
        _ = unsafe rmdir(folder)
    }
}
