import Glibc
import Holdfast
import Synchronization

extension BoundaryProbe {
    /// Tasks that wait, or run, until the process is ended: for `crashreport tasks`.
    static let waitingTasks: [String: @Sendable (Int) async throws -> Void] = [
        "tasks": { _ in
            for _ in 0..<3 { begin("GET /sleep") { await outermost() } }
            begin("GET /group") {
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 { group.addTask { await groupChild() } }
                }
            }
            begin("GET /let") {
                async let value: Void = letChild()
                await value
            }
            begin("GET /continuation") { await neverResumed() }
            begin("GET /late", deadline: .milliseconds(50)) { await neverResumed() }
            await untilTold(
                "4 child tasks waiting",
                "1 child task waiting",
                "3 tasks waiting",
                "given up by the caller"
            )
            // They keep each thread of the pool, and say when they have it.
            begin("GET /actor") { await Blocker().block() }
            begin("GET /busy") { await busy() }
            // The main loop stands still, too.
            await MainActor.run { while true { sleep(1000) } }
        },
        // Its main loop runs, and takes a signal.
        "tasks-signal": { _ in
            begin("GET /continuation") { await neverResumed() }
            await untilTold("1 task waiting")
            say("ready")
            try await Task.sleep(for: .seconds(1000))
        },
        "tasks-unseen": { _ in
            say("ready")
            try await Task.sleep(for: .seconds(1000))
        },
    ]
}

/// Runs a body in a boundary, and does not wait for it.
private func begin(_ label: String, deadline: Duration? = nil, _ body: @escaping @Sendable () async -> Void) {
    Task.detached {
        try await withFaultBoundary(FaultBoundary.Label(label), deadline: deadline) {
            await body()
            return 0
        }
    }
}

/// Waits until the process says that its tasks are so far.
private func untilTold(_ words: String...) async {
    guard let host = await EventHost.started else { return }
    while true {
        let text = host.describeTasks()
        if words.allSatisfy(text.contains) { return }
        await Task.yield()
    }
}

private let blocked = Atomic<Int>(0)

@inline(never) private func outermost() async {
    await middle()
    blocked.add(0, ordering: .relaxed)
}

@inline(never) private func middle() async {
    await innermost()
    blocked.add(0, ordering: .relaxed)
}

@inline(never) private func innermost() async {
    try? await Task.sleep(for: .seconds(1000))
    blocked.add(0, ordering: .relaxed)
}

@inline(never) private func groupChild() async {
    try? await Task.sleep(for: .seconds(1000))
    blocked.add(0, ordering: .relaxed)
}

@inline(never) private func letChild() async {
    try? await Task.sleep(for: .seconds(1000))
    blocked.add(0, ordering: .relaxed)
}

@inline(never) private func neverResumed() async {
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    blocked.add(0, ordering: .relaxed)
}

private func noteBlocked() {
    if blocked.add(1, ordering: .relaxed).newValue == 2 { say("ready") }
}

private actor Blocker {
    func block() {
        noteBlocked()
        while true { usleep(1000) }
    }
}

@inline(never) private func busy() async {
    noteBlocked()
    spin()
}

@inline(never) private func spin() {
    while blocked.load(ordering: .relaxed) >= 0 {}
}
