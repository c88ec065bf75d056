import CTaskPool
import Glibc
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@testable import TaskBoundaries

/// The pool without a host and without the runtime's other jobs: those of boundaries run on it.
@Suite(.serialized, .timeLimit(.minutes(2))) struct TaskPoolTests {
    static let extent: TaskPool.Extent? = try? TaskPool.start(workers: 2, stackSize: 1 << 20, takesAll: false) {
        _ in
    }

    init() throws {
        try #require(Self.extent == .boundaries)
    }

    private func boundary(_ name: String = "test") -> FaultBoundary { FaultBoundary(.named(name)) }

    @Test func `A pool is started once`() {
        #expect(throws: (any Error).self) { try TaskPool.start(stackSize: 1 << 20, takesAll: false) { _ in } }
    }

    @Test func `The functions through which the runtime runs a job are recognised`() {
        #expect(TaskPool.knowsRunners)
        #expect(!TaskPool.isRunner(0))
    }

    @Test func `A body runs on the pool, and so do its children`() async throws {
        let places = try await boundary().run {
            async let child = hf_task_pool_is_worker()
            let suspended = await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    await Task.yield()
                    return hf_task_pool_is_worker()
                }
                return await group.next() ?? false
            }
            return [hf_task_pool_is_worker(), await child, suspended]
        }
        #expect(places == [true, true, true])
        #expect(!hf_task_pool_is_worker())
    }

    @Test func `The boundary of a task is the innermost one`() async throws {
        #expect(FaultBoundary.current == nil)
        let names = try await boundary("outer").run {
            let inner = try await FaultBoundary(.named("inner")).run { FaultBoundary.current?.label.name }
            return [FaultBoundary.current?.label.name, inner]
        }
        #expect(names == ["outer", "inner"])
    }

    @Test func `A boundary that is abandoned answers once, after its cleanups, and cancels its body`() async throws {
        struct Abandoned: Error {}
        let steps = Steps()
        let abandoned = boundary()
        await #expect(throws: Abandoned.self) {
            try await abandoned.run {
                abandoned.addCleanup { steps.add("first") }
                abandoned.addCleanup { steps.add("second") }
                let isFirst = abandoned.abandon(Abandoned())
                let isSecond = abandoned.abandon(Abandoned())
                // The caller may still be about to know the task that it has made.
                while !Task.isCancelled { await Task.yield() }
                steps.add("\(isFirst) \(isSecond)")
                return 0
            }
        }
        // The body goes on by itself; nobody waits for it.
        while steps.all.count < 3 { await Task.yield() }
        #expect(steps.all == ["second", "first", "true false"])
    }

    @Test func `A boundary that is given up before its caller waits answers it at once, and calls no body`()
        async throws
    {
        struct Early: Error {}
        let steps = Steps()
        let early = boundary()
        early.giveUp(Early())
        await #expect(throws: Early.self) {
            try await early.run { steps.add("body") }
        }
        #expect(steps.all.isEmpty)
    }

    @Test func `A boundary that was given up runs its cleanups only if it is abandoned afterwards, once`() async throws
    {
        struct Late: Error {}
        let steps = Steps()
        let late = boundary()
        await #expect(throws: Late.self) {
            try await late.run {
                late.addCleanup { steps.add("cleanup") }
                late.giveUp(Late())
                while !Task.isCancelled { await Task.yield() }
                steps.add("goes on \(late.isAnswered)")
                let isFirst = late.abandon(Late())
                let isSecond = late.abandon(Late())
                steps.add("\(isFirst) \(isSecond)")
                return 0
            }
        }
        while steps.all.count < 3 { await Task.yield() }
        #expect(steps.all == ["goes on true", "cleanup", "false false"])
    }

    @Test func `Every one of very many boundaries returns its own value`() async throws {
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<5000 {
                group.addTask {
                    try await FaultBoundary(.named("many")).run {
                        if number % 3 == 0 { await Task.yield() }
                        return number
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(sum == 5000 * 4999 / 2)
    }

    @Test func `Labels of one text are one label, and have no others' number`() {
        let (one, same, other) = (BoundaryLabel.named("one"), BoundaryLabel.named("one"), BoundaryLabel.named("other"))
        #expect(one === same && one !== other)
        #expect(one.name == "one" && other.name == "other")
    }

    @Test func `A job that blocks its thread does not keep the others waiting`() async throws {
        let flag = Flag()
        // As many as there are threads, and one more, which lets the others go.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    try await FaultBoundary(.named("blocks")).run {
                        // In the kernel, as a lock or a disk would have it.
                        while !flag.isSet { usleep(1000) }
                    }
                }
            }
            group.addTask {
                try await FaultBoundary(.named("lets go")).run { flag.set() }
            }
            try await group.waitForAll()
        }
        #expect(flag.isSet)
    }

    @Test func `While faults are slow, many jobs that stand still do not keep the others waiting`() async throws {
        TaskPool.expect(slowFaults: true)
        defer { TaskPool.expect(slowFaults: false) }
        let (gate, count) = (Gate(), 20)
        let passed = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<count {
                group.addTask {
                    try await FaultBoundary(.named("stands still")).run { gate.pass() }
                }
            }
            group.addTask {
                try await FaultBoundary(.named("opens")).run { gate.open() }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(passed == count + 1)
    }
}

/// Waits in the kernel, as a thread in a fault handler does.
private final class Gate: Sendable {
    private let word = Atomic<UInt32>(0)

    func pass() -> Bool {
        while word.load(ordering: .acquiring) == 0 { Futex.wait(on: word, while: 0) }
        return true
    }

    func open() -> Bool {
        word.store(1, ordering: .releasing)
        for _ in 0..<64 { Futex.wakeOne(waitingOn: word) }
        return true
    }
}

/// What happened, in its order.
private final class Steps: Sendable {
    private let steps = Mutex<[String]>([])

    var all: [String] { steps.withLock { $0 } }

    func add(_ step: String) { steps.withLock { $0.append(step) } }
}
