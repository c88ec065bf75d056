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
