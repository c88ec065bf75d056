import Glibc
import RunLoops
import Synchronization

/// When a thread had to wait for a processor, or all of the machine stood still: what a thread of each processor saw that sleeps a
/// few milliseconds at a time.
///
/// The watcher's own waits cannot be told from faults of its without it.
final class DelayLog: Sendable {
    private struct Delay {
        var begin: HostRunLoop.Instant
        var end: HostRunLoop.Instant
    }

    /// The watcher looks five times before it tells, and has 25 ms to spare for all of them.
    private static let notable = Duration.milliseconds(10)
    private let isOver = Atomic<Bool>(false)
    private let delays = Mutex<[Delay]>([])
    /// Not for their loops.
    private let threads: [HostRunLoop.LoopThread]

    init() throws {
        threads = try (0..<max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN)))).map { processor in
            try HostRunLoop.LoopThread(name: "delays \(processor)")
        }
        for (processor, thread) in threads.enumerated() { thread.loop.perform { self.watch(processor) } }
    }

    private func watch(_ processor: Int) {
        Self.stay(on: processor)
        var last = HostRunLoop.Instant.now
        while !isOver.load(ordering: .acquiring) {
            usleep(5000)
            let now = HostRunLoop.Instant.now
            if last.duration(to: now) > .milliseconds(5) + Self.notable {
                let delay = Delay(begin: last, end: now)
                delays.withLock { $0.append(delay) }
            }
            last = now
        }
    }

    /// sched_setaffinity(2), which the overlay lacks; elsewhere is good, too.
    private static func stay(on processor: Int) {
        typealias Function = @convention(c) (pid_t, Int, UnsafeRawPointer) -> CInt
        guard let symbol = dlsym(nil, "sched_setaffinity") else { return }
        var mask = [UInt64](repeating: 0, count: 16)
        guard processor < mask.count * 64 else { return }
        mask[processor / 64] = 1 << (processor % 64)
        _ = unsafeBitCast(symbol, to: Function.self)(0, mask.count * 8, mask)
    }

    /// Ends the threads.
    func stop() {
        isOver.store(true, ordering: .releasing)
        for thread in threads { thread.stop() }
        for thread in threads { thread.join() }
    }

    /// Whether there was a delay between two times.
    func hasDelay(from begin: HostRunLoop.Instant, to end: HostRunLoop.Instant) -> Bool {
        delays.withLock { $0.contains { $0.begin <= end && $0.end >= begin } }
    }
}
