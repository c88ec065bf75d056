import CFaultInjection
import CFrameProbe
import Dispatch
import TaskBoundaries

/// Ways in which an async function is reached that faults, below `showUser` and `loadUser`.
enum AwaitShape: String {
    case plain = "await-plain"
    case group = "await-group"
    case asyncLet = "await-let"
    case actor = "await-actor"
    case stream = "await-stream"
    case throughC = "await-through-c"
    case continuation = "await-continuation"

    /// Faults in a task.
    func commit() {
        do {
            // It finds out where the runtime keeps the task of a thread: without it the parents of a task are not known. One worker, so that
            // a child runs when its parent waits: one that still runs has no chain.
            _ = try TaskPool.start(workers: 1, stackSize: 1 << 20) { _ in }
        } catch {
            print(error)
            return
        }
        let ended = DispatchSemaphore(value: 0)
        Task.detached {
            await showUser(self)
            ended.signal()
        }
        ended.wait()
        hf_fault_returned()
    }
}

// Each of them goes on after the fault, as far as the compiler knows: else it would drop what they need to return.

@inline(never)
private func showUser(_ shape: AwaitShape) async {
    await Task.yield()
    await loadUser(shape)
    _ = opaque(1)
}

@inline(never)
private func loadUser(_ shape: AwaitShape) async {
    switch shape {
    case .plain: await query(opaque(1))
    case .group: await queryInGroup(opaque(1))
    case .asyncLet: await queryBeside(opaque(1))
    case .actor: await Database().query(opaque(1))
    case .stream: await queryStream(opaque(3))
    case .throughC: await queryThroughC(opaque(1))
    case .continuation: await queryWithCallback(opaque(1))
    }
    _ = opaque(1)
}

@inline(never)
private func query(_ value: Int) async {
    await Task.yield()
    if value > 0 { fault() }
    _ = opaque(1)
}

@inline(never)
private func queryInGroup(_ count: Int) async {
    await withTaskGroup(of: Void.self) { group in
        for number in 0..<count { group.addTask { await query(number + 1) } }
        await group.waitForAll()
    }
    _ = opaque(1)
}

@inline(never)
private func queryBeside(_ value: Int) async {
    async let answer: Void = query(value)
    await answer
    _ = opaque(1)
}

private actor Database {
    private var queries = 0

    @inline(never)
    func query(_ value: Int) async {
        await Task.yield()
        queries += value
        if queries > 0 { fault() }
        _ = opaque(1)
    }
}

@inline(never)
private func queryStream(_ count: Int) async {
    let numbers = AsyncStream<Int> { continuation in
        for number in 0..<count { continuation.yield(number) }
        continuation.finish()
    }
    for await number in numbers where number > 0 { fault() }
    _ = opaque(1)
}

@inline(never)
private func queryThroughC(_ value: Int) async {
    await Task.yield()
    if value > 0 { withCallback(fault, hf_frame_through_qsort) }
    _ = opaque(1)
}

@inline(never)
private func queryWithCallback(_ value: Int) async {
    await Task.yield()
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        if value > 0 { fault() }
        continuation.resume()
    }
    _ = opaque(1)
}
