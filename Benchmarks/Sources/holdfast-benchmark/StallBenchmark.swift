import Glibc
import Holdfast
import StallDetection
import Synchronization

/// What it costs to watch loops for stalls, and how soon one is told.
struct StallBenchmark {
    let rounds: Int
    let stalls: Int

    private static let passes = 200_000
    private static let roundTrips = 2000
    private static let threshold = Duration.milliseconds(40)

    func rows() throws -> [Row] {
        Progress.say("passes")
        var rows = [
            try compare("pass that only polls, watched", count: Self.passes, Self.poll),
            try compare("round trip to a sleeping loop, watched", count: Self.roundTrips, Self.roundTrip),
        ]
        Progress.say("stalls")
        let delays = try delays()
        rows.append(Row("threshold to handler, p50", unit: "us", Sample(delays).median / 1e3))
        rows.append(Row("threshold to handler, p99", unit: "us", Sample(delays).percentile(99) / 1e3))
        for count in [1, 10, 100] {
            Progress.say("\(count) loops")
            rows.append(
                Row("watcher, \(count) idle loops, a second", unit: "wake-ups", try wakeUps(count, isBusy: false))
            )
            rows.append(
                Row("watcher, \(count) busy loops, a second", unit: "wake-ups", try wakeUps(count, isBusy: true))
            )
        }
        return rows
    }

    // MARK: With and without

    private func compare(
        _ name: String,
        count: Int,
        _ body: (HostRunLoop, Int) throws -> Double
    ) throws -> Row {
        let thread = try HostRunLoop.LoopThread(name: "measured")
        defer {
            thread.stop()
            thread.join()
        }
        let monitor = StallMonitor { _ in }
        var watched: [Double] = []
        var plain: [Double] = []
        _ = try body(thread.loop, count)
        for round in 0..<2 * rounds {
            if round.isMultiple(of: 2) {
                try monitor.watch(thread.loop)
                watched.append(try body(thread.loop, count) / Double(count))
            } else {
                monitor.stop()
                plain.append(try body(thread.loop, count) / Double(count))
            }
        }
        monitor.stop()
        return Row(name, Sample(watched).median, peer: ("not watched", Sample(plain).median))
    }

    /// A source that signals itself again and again: all passes but the first poll.
    private static func poll(_ loop: HostRunLoop, _ count: Int) throws -> Double {
        try loop.performAndWait {
            let mode = HostRunLoop.Mode("measured")
            let left = Atomic<Int>(count)
            let source = Mutex<HostRunLoop.Source?>(nil)
            let signalling = HostRunLoop.Source(label: "again") { _ in
                if left.subtract(1, ordering: .relaxed).newValue > 0 {
                    source.withLock { $0 }?.signal()
                } else {
                    loop.stop()
                }
            }
            source.withLock { $0 = signalling }
            loop.add(signalling, to: mode)
            signalling.signal()
            let start = now()
            loop.run(in: mode, for: .seconds(1000))
            let time = now() - start
            signalling.invalidate()
            source.withLock { $0 = nil }
            return time
        }
    }

    private static func roundTrip(_ loop: HostRunLoop, _ count: Int) throws -> Double {
        let start = now()
        for _ in 0..<count { _ = try loop.performAndWait { 1 } }
        return now() - start
    }

    // MARK: Until it is told

    /// From the moment when a callout has lasted as long as the threshold to that when the handler is called, in nanoseconds.
    private func delays() throws -> [Double] {
        let told = Atomic<Int64>(0)
        let monitor = StallMonitor(rule: .once(after: Self.threshold)) { stall in
            guard stall.phase == .lasting else { return }
            told.store(Int64(now()), ordering: .releasing)
        }
        let thread = try HostRunLoop.LoopThread(name: "stalls")
        try monitor.watch(thread.loop)
        defer {
            monitor.stop()
            thread.stop()
            thread.join()
        }
        let threshold = Double(Self.threshold / .nanoseconds(1))
        return try (0..<stalls).map { number in
            told.store(0, ordering: .releasing)
            // At another point of the watcher's interval each time.
            usleep(UInt32(1000 * (number % 23)))
            let begin = try thread.loop.performAndWait {
                let begin = now()
                while told.load(ordering: .acquiring) == 0 { usleep(100) }
                return begin
            }
            return Double(told.load(ordering: .acquiring)) - begin - threshold
        }
    }

    // MARK: The watcher

    private func wakeUps(_ count: Int, isBusy: Bool) throws -> Double {
        let monitor = StallMonitor { _ in }
        let threads = try (0..<count).map { try HostRunLoop.LoopThread(name: "watched \($0)") }
        for thread in threads {
            if isBusy {
                let timer = HostRunLoop.Timer(label: "busy", after: .zero, repeating: .milliseconds(10)) { _ in }
                thread.loop.add(timer)
            }
            try monitor.watch(thread.loop)
        }
        defer {
            monitor.stop()
            for thread in threads { thread.stop() }
            for thread in threads { thread.join() }
        }
        // Until the watcher has seen that nothing happens any more.
        sleep(1)
        let seconds = 4.0
        let before = Self.switches()
        usleep(UInt32(seconds * 1e6))
        return Double(Self.switches() - before) / seconds
    }

    /// How often the watcher has gone to sleep so far.
    private static func switches() -> Int {
        for thread in ProcFile.names(in: "/proc/self/task") {
            let folder = "/proc/self/task/\(thread)"
            guard ProcFile.lines(of: folder + "/comm") == ["holdfast-stalls"] else { continue }
            return ProcFile.numbers(of: folder + "/status")["voluntary_ctxt_switches"] ?? 0
        }
        return 0
    }
}

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

/// The least that a durable file costs: write, fsync, rename, fsync of the folder.
enum DurableWrite {
    /// Writes bytes again and again, and removes them in the end.
    static func measure(_ bytes: [UInt8], in directory: String, count: Int) throws -> Sample {
        let path = directory + "/plain"
        let folder = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer {
            close(folder)
            unsafe unlink(path)
        }
        var times: [Double] = []
        for _ in 0..<count {
            let begin = now()
            let file = unsafe open(path + ".tmp", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            let written = unsafe bytes.withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) }
            let isDone = written == bytes.count && fsync(file) == 0
            close(file)
            guard isDone, unsafe rename(path + ".tmp", path) == 0, fsync(folder) == 0 else {
                throw MeasurementError("cannot write \(path)")
            }
            times.append(now() - begin)
        }
        return Sample(times)
    }
}
