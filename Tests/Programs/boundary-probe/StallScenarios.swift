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

/// Whether a report of the store has some text.
private func someReport(contains text: String) -> Bool {
    var found = glob_t()
    defer { globfree(&found) }
    guard glob(CommandLine.arguments[2] + "/reports/*.json", 0, nil, &found) == 0 else { return false }
    for index in 0..<Int(found.gl_pathc) {
        guard let path = found.gl_pathv[index], let file = fopen(path, "r") else { continue }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&bytes, 1, bytes.count, file)
        if String(decoding: bytes.prefix(count), as: UTF8.self).contains(text) { return true }
    }
    return false
}

/// Does something that stalls, and waits until the end of the stall is told.
///
/// If it stalls in a boundary, it goes on until the report says what the tasks do: another thread than the one that tells it looks at them.
private func untilStallIsOver(inBoundary: Bool = true, _ work: @Sendable () async -> Void) async {
    let (ends, continuation) = AsyncStream.makeStream(of: Void.self)
    await MainActor.run {
        _ = EventHost.started?.onStall {
            guard $0.phase != .over else {
                continuation.yield()
                return
            }
            DispatchQueue.global().async {
                while inBoundary, !someReport(contains: "\"tasks\"") { usleep(5000) }
                isTold.store(true, ordering: .releasing)
            }
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
        await untilStallIsOver(inBoundary: false) { say("sum \(await audit(ledger) > 0)") }
    },
    "stall-handover": { _ in
        let office = Office()
        await untilStallIsOver { await attempt("stall-handover") { await office.work() } }
    },
    // Nobody is in a boundary, and jobs wait.
    "stall-starved": { number in
        await untilStallIsOver(inBoundary: false) {
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
