import Dispatch
import FaultInjection
import Glibc
import Holdfast
import Logging
import Synchronization

private struct OwnError: Error {}

/// Traps when it goes.
private final class Trap {
    deinit { _ = trap() }
}

enum Local {
    @TaskLocal static var value = "none"
}

private final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    func add() { count.add(1, ordering: .relaxed) }
    var value: Int { count.load(ordering: .relaxed) }
}

private actor Caller {
    private var calls = 0

    func call() async {
        calls += 1
        await attempt("actor") { trap() }
        say("calls \(calls)")
    }
}

/// An executor of the program's own.
private final class QueueExecutor: TaskExecutor {
    private static let key = DispatchSpecificKey<Bool>()
    private let queue = DispatchQueue(label: "the program's own")

    init() { queue.setSpecific(key: Self.key, value: true) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Whether the caller's task prefers it, and so goes on there.
    @concurrent func isCurrent() async -> Bool { DispatchQueue.getSpecific(key: Self.key) == true }
}

/// Faults that cost their boundary, and what goes on.
let resumed: [String: @Sendable (Int) async throws -> Void] = [
    "plain": { _ in await attempt("plain") { trap() } },
    "suspended": { _ in
        await attempt("suspended") {
            try await Task.sleep(for: .milliseconds(1))
            await Task.yield()
            return trap()
        }
    },
    "returned": { _ in
        await attempt("value") { 7 }
        await attempt("error") { throw OwnError() }
    },
    "executor": { _ in
        let queue = QueueExecutor()
        let outside = await withTaskExecutorPreference(queue) { await queue.isCurrent() }
        say("outside \(outside) \(await queue.isCurrent())")
        await attempt("executor") {
            let inside = await withTaskExecutorPreference(queue) { await queue.isCurrent() }
            let global = await withTaskExecutorPreference(globalConcurrentExecutor) { await queue.isCurrent() }
            say("inside \(inside) \(global) \(await queue.isCurrent())")
            return trap()
        }
    },
    "exit": { _ in await attempt("exit") { exit(5) } },
    "unprotected": { _ in await attempt("unprotected") { FaultBoundary.label == nil ? 3 : 0 } },
    "child": { _ in
        await attempt("child") {
            await withTaskGroup(of: Int.self) { group in
                group.addTask { 1 }
                group.addTask {
                    try? await Task.sleep(for: .milliseconds(1))
                    return trap()
                }
                return await group.reduce(0, +)
            }
        }
    },
    "let": { _ in
        await attempt("let") {
            async let one = trap()
            async let other = 1
            return await one + other
        }
    },
    "stream": { _ in
        await attempt("stream") {
            let (numbers, continuation) = AsyncStream.makeStream(of: Int.self)
            for number in 1...3 { continuation.yield(number) }
            for await number in numbers where number == 3 { return trap() }
            return 0
        }
    },
    "deinit": { _ in
        await attempt("deinit") {
            _ = Trap()
            return 0
        }
    },
    "continuation": { _ in
        await attempt("continuation") { await withCheckedContinuation { $0.resume(returning: trap()) } }
    },
    "handler": { _ in
        await attempt("handler") {
            await withTaskCancellationHandler {
                await Task.yield()
                return trap()
            } onCancel: {
            }
        }
    },
    "dictionary": { _ in
        await attempt("dictionary") {
            var table = ["a": 1]
            table["a", default: 0] += trap()
            return table.count
        }
    },
    // Each has used a lock in its async body, and let go of it.
    "mutex-released": { _ in
        let mutex = Mutex(0)
        await attempt("used") {
            mutex.withLock { $0 += 1 }
            return trap()
        }
        await attempt("read") {
            let value = mutex.withLock { value in
                value += 1
                return value
            }
            return value + trap()
        }
        await attempt("thrown") {
            try mutex.withLock { value in
                if value > 100 { throw OwnError() }
                value += 1
            }
            return trap()
        }
        await attempt("suspended") {
            mutex.withLock { $0 += 1 }
            await Task.yield()
            return trap()
        }
        await attempt("before") {
            let before = trap()
            return mutex.withLock { $0 + before }
        }
        await attempt("loop") {
            for number in 0..<3 { mutex.withLock { $0 += number } }
            return trap()
        }
        say("the lock is free \(mutex.withLockIfAvailable { $0 } ?? -1)")
    },
    "nested": { _ in
        await attempt("outer") {
            await attempt("inner") { trap() }
            return FaultBoundary.label == "outer" ? 2 : 0
        }
    },
    "cleanup": { _ in
        await attempt("cleanup") {
            FaultBoundary.onAbandon { say("first") }
            FaultBoundary.onAbandon { say("second") }
            return trap()
        }
        await attempt("no cleanup") {
            FaultBoundary.onAbandon { say("never") }
            return 4
        }
    },
    "values": { _ in
        await Local.$value.withValue("bound") {
            await attempt("values") {
                say("local \(Local.value), label \(FaultBoundary.label ?? "none")")
                async let inner = "\(Local.value), \(FaultBoundary.label ?? "none")"
                say("child \(await inner)")
                say("unstructured \(await Task { FaultBoundary.label ?? "none" }.value)")
                return 0
            }
        }
        let task = Task(name: "named", priority: .high) {
            await attempt("name") {
                say("name \(Task.name ?? "none"), priority \(Task.currentPriority == .high ? "high" : "other")")
                return 0
            }
        }
        await task.value
    },
    "cancelled": { _ in
        let task = Task {
            await attempt("cancelled") {
                say("waits")
                try await Task.sleep(for: .seconds(100))
                return 0
            }
        }
        task.cancel()
        await task.value
    },
    "siblings": { _ in
        // The other child waits until it is cancelled: by the fault of its sibling.
        let hasHeard = Counter()
        await attempt("siblings") {
            await withTaskGroup(of: Int.self) { group in
                group.addTask {
                    try? await Task.sleep(for: .seconds(100))
                    say("cancelled \(Task.isCancelled)")
                    hasHeard.add()
                    return 1
                }
                group.addTask {
                    try? await Task.sleep(for: .milliseconds(20))
                    return trap()
                }
                return await group.reduce(0, +)
            }
        }
        // Nobody waits for it any more.
        while hasHeard.value == 0 { try await Task.sleep(for: .milliseconds(1)) }
    },
    "from-actor": { _ in
        let caller = Caller()
        for _ in 0..<2 { await caller.call() }
    },
    "from-callout": { _ in
        await withCheckedContinuation { continuation in
            HostRunLoop.main.perform {
                Task {
                    await attempt("callout") { trap() }
                    continuation.resume()
                }
            }
        }
    },
    "closed": { _ in
        await MainActor.run { EventHost.started?.close() }
        await attempt("closed") { FaultBoundary.label == nil ? 3 : 0 }
    },
    "again": { _ in
        for _ in 0..<2 {
            do {
                _ = try await withFaultBoundary("again") { await element(of: [1], at: 7) }
            } catch let error as FaultError {
                say("\(error.reason) at \(error.location ?? "no place")")
            }
            await waitForReport()
        }
    },
    // The runtime warns of each leak, and nothing faults.
    "leaks": { number in
        for _ in 0..<number { await withUnsafeContinuation(leak) }
        await attempt("leaks") { await element(of: [1], at: 7) }
    },
    "many": { number in
        let (faulted, returned) = (Counter(), Counter())
        await withDiscardingTaskGroup { group in
            for worker in 0..<16 {
                group.addTask {
                    for round in 0..<number / 16 {
                        do {
                            _ = try await withFaultBoundary("many") {
                                if round % 3 == 0 { await Task.yield() }
                                return (worker + round) % 2 == 0 ? trap() : 1
                            }
                            returned.add()
                        } catch {
                            faulted.add()
                        }
                    }
                }
            }
        }
        say("faulted \(faulted.value), returned \(returned.value)")
        let host = await MainActor.run { EventHost.started }
        say("resumed \(await MainActor.run { host?.statistics.resumedFaults ?? 0 })")
    },
    // Requests that are under way together, each with an id in its task-local logger.
    "requests": { number in
        await withDiscardingTaskGroup { group in
            for client in 0..<64 {
                group.addTask {
                    for request in stride(from: client, to: number, by: 64) { await answer(request) }
                }
            }
        }
        // A server goes on; an end would wait for its reports for seconds only.
        _ = await MainActor.run { EventHost.started?.flushReports(within: .seconds(300)) }
    },
    // Jobs that block all threads of the pool do not keep the others from running.
    "blocked": { number in
        await withDiscardingTaskGroup { group in
            for _ in 0..<number { group.addTask { usleep(300_000) } }
            group.addTask {
                try? await Task.sleep(for: .milliseconds(1))
                say("ran beside them")
            }
        }
    },
]

@inline(never) private func element(of numbers: [Int], at index: Int) async -> Int {
    await Task.yield()
    return numbers[index]
}

/// Lets a checked continuation go that was not resumed, and resumes what it was made of: no task waits for it.
@inline(never) private func leak(_ continuation: UnsafeContinuation<Void, Never>) {
    _ = CheckedContinuation(continuation: continuation)
    continuation.resume()
}

@Sendable private func answer(_ request: Int) async {
    var logger = Logger(label: "requests")
    logger[metadataKey: "request.id"] = "r\(request)"
    logger[metadataKey: "password"] = "hunter2"
    do {
        _ = try await withLogger(logger) { _ in
            try await withFaultBoundary("requests", metadata: ["client": "c\(request % 64)"]) {
                await Task.yield()
                return trap()
            }
        }
    } catch let error as FaultError {
        say("\(request) \(error.report.map { "\($0)" } ?? "none")")
    } catch {
        say("\(error)")
    }
}

/// Waits until the store has a report.
private func waitForReport() async {
    let pattern = CommandLine.arguments[2] + "/reports/*.json"
    var found = glob_t()
    while glob(pattern, 0, nil, &found) != 0 { try? await Task.sleep(for: .milliseconds(1)) }
    globfree(&found)
}
