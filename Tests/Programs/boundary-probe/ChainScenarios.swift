import FaultInjection
import Holdfast

@inline(never) private func showUser() async throws -> Int {
    try await loadUser() + 1
}

@inline(never) private func loadUser() async throws -> Int {
    try await Task.sleep(for: .milliseconds(1))
    return await query() + 1
}

@inline(never) private func query() async -> Int {
    await Task.yield()
    return trap()
}

@inline(never) private func gather() async -> Int {
    await withTaskGroup(of: Int.self) { group in
        group.addTask {
            // Long after its parent has begun to wait for it.
            try? await Task.sleep(for: .milliseconds(300))
            return await query()
        }
        return await group.reduce(0, +)
    }
}

@inline(never) private func pair() async -> Int {
    async let number = try? await {
        try await Task.sleep(for: .milliseconds(300))
        return await query()
    }()
    return await number ?? 0
}

@inline(never) private func readAll() async -> Int { await consume() + 1 }

@inline(never) private func consume() async -> Int {
    let (numbers, continuation) = AsyncStream.makeStream(of: Int.self)
    continuation.yield(1)
    continuation.finish()
    var sum = 0
    for await number in numbers {
        await Task.yield()
        sum += number + trap()
    }
    return sum
}

private actor Shelf {
    private var books = 0

    @inline(never) func count() async -> Int {
        books += 1
        await Task.yield()
        return books + trap()
    }
}

@inline(never) private func visit() async -> Int { await Shelf().count() + 1 }

@inline(never) private func page() async -> Int { await sortRows() + 1 }

/// Faults in a function that the C library calls back.
@inline(never) private func sortRows() async -> Int {
    await Task.yield()
    Hazard.qsortComparator.commit()
    return 1
}

@inline(never) private func wrap() async -> Int { await hold() + 1 }

@inline(never) private func hold() async -> Int {
    await withCheckedContinuation { continuation in continuation.resume(returning: trap()) }
}

/// Faults whose reports have async calls behind the stack; not all of them are resumed.
let chained: [String: @Sendable (Int) async throws -> Void] = [
    "chain": { _ in await attempt("chain") { try await showUser() } },
    "chain-group": { _ in await attempt("chain-group") { await gather() } },
    "chain-let": { _ in await attempt("chain-let") { await pair() } },
    "chain-stream": { _ in await attempt("chain-stream") { await readAll() } },
    "chain-actor": { _ in await attempt("chain-actor") { await visit() } },
    "chain-c": { _ in await attempt("chain-c") { await page() } },
    "chain-callback": { _ in await attempt("chain-callback") { await wrap() } },
]
