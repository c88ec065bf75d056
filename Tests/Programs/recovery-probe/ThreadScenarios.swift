import CCrashCapture
import CrashCapture
import Dispatch
import FaultInjection
import Glibc
import Holdfast
import Synchronization

extension Probe {
    /// Whether a thread that faulted waits until it may restart the process.
    nonisolated static var awaitsRestart: Bool { hf_capture_awaits_restart() }

    static let madeUpSize = 1_234_567

    /// Memory that looks like the records of a process without a store, and has none; open in programs that are executed.
    static func makeUpRecords() -> CInt {
        let spool = hf_capture_make_memory_spool(UInt64(madeUpSize))
        pwrite(spool, "HFSPOOL", 8, 0)
        _ = fcntl(spool, F_SETFD, 0)
        return spool
    }

    /// Starts a thread that the host knows nothing of.
    @discardableResult
    nonisolated static func startThread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(ThreadBody(body)).toOpaque()
        let error = pthread_create(
            &thread,
            nil,
            { argument in
                if let argument { Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run() }
                return nil
            },
            argument
        )
        precondition(error == 0, "no thread for a test")
        return thread
    }

    func overflowOnPlainThread() {
        _ = Probe.startThread { Fault.stackOverflow.commit() }
        finishNever()
    }

    func overflowOnDispatchWorker() {
        DispatchQueue.global().async { Fault.stackOverflow.commit() }
        finishNever()
    }

    func overflowOnPoolThread() {
        Task.detached { Fault.stackOverflow.commit() }
        finishNever()
    }

    /// The stack that a thread was given for its signals goes with it.
    func signalStacksAreFreed() {
        /// Guards of signal stacks: pieces of 64 KiB without access (maps in proc(5)). Not all that is mapped: the report writer's
        /// thread maps the executable's file at a time of its own.
        func guards() -> Int {
            guard let maps = fopen("/proc/self/maps", "r") else { fatalError("no maps") }
            defer { fclose(maps) }
            var line = [CChar](repeating: 0, count: 4096)
            var count = 0
            while fgets(&line, CInt(line.count), maps) != nil {
                let fields = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                    .split(separator: " ")
                let bounds = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
                if fields[1] == "---p", bounds[1] - bounds[0] == 64 * 1024 { count += 1 }
            }
            return count
        }
        // The library keeps the stacks of a few threads that have ended.
        for _ in 0..<8 { pthread_join(Probe.startThread {}, nil) }
        let before = guards()
        for _ in 0..<200 { pthread_join(Probe.startThread {}, nil) }
        Probe.say("grown \(guards() - before >= 50)")
        finish()
    }

    /// Several threads fault at the same instant, and so does the main loop.
    func simultaneousFaults() {
        let meeting = Meeting(of: 5)
        for _ in 1...4 {
            _ = Probe.startThread {
                meeting.arrive()
                Fault.nilUnwrap.commit()
            }
        }
        perform {
            meeting.arrive()
            Fault.nullRead.commit()
        }
        finishNever()
    }

    /// Four threads fault while a fault of the main loop is being judged.
    func faultsDuringVerdict() {
        perform {
            for _ in 1...4 {
                _ = Probe.startThread {
                    while !Self.isJudging.load(ordering: .acquiring) { sched_yield() }
                    Fault.nilUnwrap.commit()
                }
            }
            Fault.nullRead.commit()
        }
        finishNever()
    }

    nonisolated static let isJudging = Atomic<Bool>(false)

    /// An objection that comes when all five faults wait for their verdict.
    static let lateObjection: @Sendable (FaultSummary) -> StaticString? = { fault in
        // It is tried once before any fault.
        guard fault.isMainThread, hf_capture_waiting_count() > 0 else { return nil }
        isJudging.store(true, ordering: .releasing)
        while hf_capture_waiting_count() < 5 { sched_yield() }
        return "there are others"
    }
}

/// Where threads meet.
private final class Meeting: Sendable {
    private let expected: Int
    private let arrived = Atomic<Int>(0)

    init(of expected: Int) {
        self.expected = expected
    }

    /// Returns when all have arrived.
    func arrive() {
        arrived.add(1, ordering: .acquiringAndReleasing)
        while arrived.load(ordering: .acquiring) < expected { sched_yield() }
    }
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}
