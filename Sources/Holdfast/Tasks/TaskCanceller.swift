internal import CrashCapture
internal import Synchronization
internal import TaskBoundaries

/// Cancels the bodies of boundaries on threads of its own.
///
/// Who cancels a task runs the program's closures of `withTaskCancellationHandler(operation:onCancel:)`, and one may block: for as long as
/// that lasts, it keeps its thread, and nobody else waits. There is a thread that is free as long as somebody is to be cancelled. Usually one
/// does it all.
final class TaskCanceller: Sendable {
    private struct State {
        /// The first is the next.
        var waiting: [TaskBoundaries.FaultBoundary] = []
        /// Threads that there are.
        var threads = 0
        /// Those that cancel nobody.
        var free = 0
    }

    /// As many as the pool has at most: beyond that, bodies wait to be cancelled, and are given up in time all the same.
    private static let mostThreads = 64

    /// Protected by its lock.
    private let state = Mutex(State())
    private let work = Semaphore()

    /// Cancels a body, soon.
    func cancel(_ boundary: TaskBoundaries.FaultBoundary) {
        let needsThread = state.withLock { state in
            state.waiting.append(boundary)
            return Self.takesThread(&state)
        }
        work.signal()
        if needsThread { startThread() }
    }

    /// Whether one more thread is to be started; it counts from now on.
    private static func takesThread(_ state: inout State) -> Bool {
        guard !state.waiting.isEmpty, state.free == 0, state.threads < mostThreads else { return false }
        state.threads += 1
        state.free += 1
        return true
    }

    private func startThread() {
        do {
            try DetachedThread.start(name: "holdfast-cancel") { [self] in run() }
        } catch {
            // Those that there are go on; the next call tries again. Bodies are given up in time all the same.
            state.withLock { state in
                state.threads -= 1
                state.free -= 1
            }
        }
    }

    private func run() {
        while true {
            let (boundary, needsThread, isDone) = state.withLock { state in
                guard !state.waiting.isEmpty else {
                    // One that is free is enough: the others were made because one was blocked.
                    guard state.free > 1 else { return (nil as TaskBoundaries.FaultBoundary?, false, false) }
                    state.threads -= 1
                    state.free -= 1
                    return (nil, false, true)
                }
                state.free -= 1
                let next = state.waiting.removeFirst()
                return (next, Self.takesThread(&state), false)
            }
            if isDone { return }
            if needsThread { startThread() }
            guard let boundary else {
                DetachedThread.rest { work.wait() }
                continue
            }
            boundary.cancel()
            state.withLock { $0.free += 1 }
        }
    }
}
