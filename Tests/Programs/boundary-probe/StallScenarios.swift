import Dispatch
import Glibc
import Holdfast
import Synchronization

/// Whether a stall was told, after a look at it.
private let isTold = Atomic(false)

/// When something stops that is to be told as a stall: not before it is, however slow the machine.
private func isEnough(since begin: ContinuousClock.Instant) -> Bool {
    begin.duration(to: .now) >= .milliseconds(600) && isTold.load(ordering: .acquiring)
}

/// Waits in the kernel.
@inline(never) private func dawdle() -> Int {
    let begin = ContinuousClock.now
    // A look at the thread interrupts the call.
    repeat { usleep(600_000) } while !isEnough(since: begin)
    return 1
}

/// Calculates.
@inline(never) private func calculate() -> Int {
    let begin = ContinuousClock.now
    var turns = 0
    while !isEnough(since: begin) { turns &+= 1 }
    return turns > 0 ? 1 : 0
}

/// Calculates in a closure that a function of the runtime calls, in a debug build.
private enum Bound {
    @TaskLocal static var number = 0

    @inline(never) static func calculateInside() -> Int {
        $number.withValue(1) {
            // More of the stack than is searched for a context.
            withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { room in
                room.initializeMemory(as: UInt8.self, repeating: 0)
                return calculate() + Int(room[17])
            }
        }
    }
}

/// Calculates in a handler of a signal: from its trampoline on, libunwind walks the stack.
private func calculateInHandler() -> Int {
    signal(SIGUSR1) { _ in _ = calculate() }
    raise(SIGUSR1)
    return 1
}

private actor Ledger {
    @inline(never) func sum() -> Int { calculate() }
}

@inline(never) private func audit(_ ledger: Ledger) async -> Int { await ledger.sum() + 1 }

/// Runs each job on a thread of another queue, and keeps the thread that hands it over.
private final class Reluctant: SerialExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        DispatchQueue.global().async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        _ = dawdle()
    }
}

private actor Office {
    private let executor = Reluctant()
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    func work() -> Int { calculate() }
}

/// Does something that stalls, and waits until the end of the stall is told.
private func untilStallIsOver(_ work: @Sendable () async -> Void) async {
    let (ends, continuation) = AsyncStream.makeStream(of: Void.self)
    await MainActor.run {
        _ = EventHost.started?.onStall {
            if $0.phase == .over { continuation.yield() } else { isTold.store(true, ordering: .releasing) }
        }
    }
    await work()
    for await _ in ends { return }
}

/// Jobs that keep a thread, and some that do not: with a rule of 100 ms.
let stalled: [String: @Sendable (Int) async throws -> Void] = [
    "stall-sleep": { _ in await untilStallIsOver { await attempt("stall-sleep") { dawdle() } } },
    "stall-calculate": { _ in await untilStallIsOver { await attempt("stall-calculate") { calculate() } } },
    "stall-bound": { _ in await untilStallIsOver { await attempt("stall-bound") { Bound.calculateInside() } } },
    "stall-signal": { _ in await untilStallIsOver { await attempt("stall-signal") { calculateInHandler() } } },
    "stall-actor": { _ in
        let ledger = Ledger()
        try await MainActor.run { try EventHost.started?.watch(ledger, label: "ledger", every: .milliseconds(10)) }
        await untilStallIsOver { say("sum \(await audit(ledger) > 0)") }
    },
    "stall-handover": { _ in
        let office = Office()
        await untilStallIsOver { await attempt("stall-handover") { await office.work() } }
    },
    // Nobody is in a boundary, and jobs wait.
    "stall-starved": { number in
        await untilStallIsOver {
            await withDiscardingTaskGroup { group in
                for _ in 0..<number { group.addTask { _ = calculate() } }
            }
        }
    },
    // Nobody waits for a thread.
    "stall-none": { _ in
        await attempt("stall-none") {
            try await Task.sleep(for: .milliseconds(600))
            return 1
        }
        await Task.detached { _ = usleep(600_000) }.value
    },
]
