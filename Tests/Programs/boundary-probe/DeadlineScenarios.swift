import Glibc
import Holdfast
import Synchronization

private let never = Atomic<Bool>(false)

/// Runs until somebody ends it, in the program's own code.
@inline(never) private func spin() -> Int {
    var turns = 0
    while !never.load(ordering: .relaxed) { turns &+= 1 }
    return turns
}

private func limited(
    _ label: FaultBoundary.Label,
    _ deadline: Duration,
    _ body: @escaping @Sendable () async throws -> Int
) async {
    do {
        say("\(label.text) returned \(try await withFaultBoundary(label, deadline: deadline, body))")
    } catch let error as FaultBoundary.DeadlineError {
        say("\(error.boundary) late, \(error.fault == nil ? "no report" : "report"), \(error.deadline)")
    } catch {
        say("\(label.text) threw \(error)")
    }
}

/// Bodies that take longer than they may, and some that do not.
let late: [String: @Sendable (Int) async throws -> Void] = [
    "in-time": { _ in
        await limited("in time", .seconds(3600)) {
            await Task.yield()
            return 1
        }
        await limited("throws", .seconds(3600)) { throw CancellationError() }
        await attempt("faults") { trap() }
    },
    // It ends when it is cancelled.
    "sleeping": { _ in
        await limited("sleeping", .milliseconds(20)) {
            try await Task.sleep(for: .seconds(3600))
            return 1
        }
    },
    // Cancelled, it says what it has.
    "partial": { _ in
        await limited("partial", .milliseconds(20)) {
            try? await Task.sleep(for: .seconds(3600))
            return 7
        }
    },
    // It waits for what nobody will do.
    "deaf": { _ in
        await limited("deaf", .milliseconds(20)) {
            FaultBoundary.onAbandon { say("abandoned") }
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            return 1
        }
    },
    // Their handlers of cancellation never return.
    "blocked-handlers": { number in
        await withDiscardingTaskGroup { group in
            for _ in 0..<number {
                group.addTask {
                    await limited("blocked", .milliseconds(20)) {
                        await withTaskCancellationHandler {
                            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
                        } onCancel: {
                            while true { pause() }
                        }
                        return 1
                    }
                }
            }
        }
        await limited("next", .milliseconds(20)) {
            try await Task.sleep(for: .seconds(3600))
            return 1
        }
    },
    // All wait for one mutex: no job of theirs can be ended. Says whether the last one's deadline has waited for the others'.
    "mutexes": { number in
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_mutex_lock(mutex)
        let address = Int(bitPattern: mutex)
        let clock = ContinuousClock()
        let longest = await withTaskGroup(of: Duration.self) { group in
            for _ in 0..<number {
                group.addTask {
                    await clock.measure {
                        await limited("mutex", .milliseconds(20)) {
                            let mutex = UnsafeMutablePointer<pthread_mutex_t>(bitPattern: address)
                            return if let mutex { Int(pthread_mutex_lock(mutex)) } else { -1 }
                        }
                    }
                }
            }
            return await group.reduce(.zero) { max($0, $1) }
        }
        // One after the other, they would take a second each.
        say("together \(longest < .milliseconds(1000 * number / 2))")
    },
    // More than the pool has threads.
    "spinning": { number in
        await withDiscardingTaskGroup { group in
            for _ in 0..<number {
                group.addTask { await limited("spinning", .milliseconds(20)) { spin() } }
            }
        }
        await attempt("next") { 4 }
    },
]
