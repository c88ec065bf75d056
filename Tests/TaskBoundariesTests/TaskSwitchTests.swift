import CTaskPool
import Dispatch
import Glibc
import Synchronization
import Testing

@testable import TaskBoundaries

/// A switch that the pool answers instead of the runtime changes nothing of where the code of a task runs.
extension TaskPoolTests {
    @Suite(.timeLimit(.minutes(2))) struct Switches {
        init() throws {
            try #require(TaskPoolTests.extent == .boundaries)
        }

        private func run<Value: Sendable>(
            _ body: @escaping @Sendable () async throws -> Value
        ) async throws -> Value {
            try await FaultBoundary(.named("switches")).run(body)
        }

        @Test func `A task of a boundary is settled on its executor`() async throws {
            let result = try await run {
                let before = isSettled()
                await somewhere()
                return before && isSettled()
            }
            #expect(result)
        }

        @Test func `A preferred executor is gone to and come back from, also in the same job`() async throws {
            let queue = QueueExecutor()
            let places = try await run {
                await somewhere()
                let inside = await withTaskExecutorPreference(queue) {
                    await somewhere()
                    return isOnPool()
                }
                let between = isOnPool()
                let again = try await withTaskExecutorPreference(queue) { try await isOnPoolThrowing() }
                await somewhere()
                return [inside, between, again, isOnPool()]
            }
            #expect(places == [false, true, false, true])
        }

        @Test func `The pool of the runtime may be preferred within a boundary`() async throws {
            let places = try await run {
                let inside = await withTaskExecutorPreference(globalConcurrentExecutor) {
                    await somewhere()
                    return isInScope()
                }
                await somewhere()
                return [inside, isInScope()]
            }
            #expect(places == [false, true])
        }

        @Test func `An async function that is isolated to nothing leaves the actor of its caller`() async throws {
            let counter = Counter()
            let visits = try await run {
                async let visitor: Void = counter.visit()
                // It does not return before the other one was in the actor, and suspends nowhere.
                let visits = await counter.waitOutside()
                await visitor
                return visits
            }
            #expect(visits == 1)
        }

        @Test func `After an actor that others kept busy the task is in its boundary again`() async throws {
            let counter = Counter()
            let inScope = try await run {
                await withTaskGroup(of: Bool.self) { group in
                    for _ in 0..<64 {
                        group.addTask {
                            for _ in 0..<50 {
                                await counter.visit()
                                if !isInScope() { return false }
                                await somewhere()
                                if !isInScope() { return false }
                            }
                            return true
                        }
                    }
                    return await group.reduce(true) { $0 && $1 }
                }
            }
            #expect(inScope)
            #expect(counter.visits.load(ordering: .relaxed) == 3200)
        }

        @Test func `A task that begins within the job of another one is not taken for it`() async throws {
            let isInner = try await run {
                let inner = Task.immediate {
                    await somewhere()
                    return FaultBoundary.current == nil
                }
                return await inner.value && FaultBoundary.current != nil
            }
            #expect(isInner)
        }
    }
}

/// Asks for a switch to the generic executor, and needs none where the caller is on it.
@concurrent private func somewhere() async {}

@concurrent private func isOnPoolThrowing() async throws -> Bool { isOnPool() }

private func isOnPool() -> Bool { hf_task_pool_is_worker() }

private func isSettled() -> Bool { unsafe hf_task_pool_settled_scope() != nil }

private func isInScope() -> Bool { unsafe hf_task_pool_current_scope() != nil }

private final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "elsewhere")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

private actor Counter {
    nonisolated let visits = Atomic<Int>(0)

    func visit() { visits.add(1, ordering: .relaxed) }

    func waitOutside() async -> Int { await spin() }

    /// Not isolated: others may be in the actor meanwhile.
    @concurrent private nonisolated func spin() async -> Int {
        while visits.load(ordering: .relaxed) == 0 { sched_yield() }
        return visits.load(ordering: .relaxed)
    }
}
