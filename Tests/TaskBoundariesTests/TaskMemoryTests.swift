import CTaskPool
import RecoveryTestSupport
import Testing

@testable import TaskBoundaries

/// The memory of tasks, where the pool's functions stand before those of the runtime.
extension TaskPoolTests {
    @Suite(.timeLimit(.minutes(2))) struct Memory {
        init() throws {
            try #require(TaskPoolTests.extent == .boundaries)
        }

        #if arch(x86_64)
        @Test func `Tasks take it by the pool's functions`() {
            #expect(hf_task_memory_is_used())
        }
        #endif

        @Test func `Both ways take and give back the same pieces`() async {
            await Task { #expect(hf_test_task_memory_agrees(HFTestTaskMemoryOwn)) }.value
        }

        @Test func `A way that takes more, and a runtime without slabs, are told from it`() async {
            await Task {
                #expect(!hf_test_task_memory_agrees(HFTestTaskMemoryWasteful))
                #expect(!hf_test_task_memory_agrees(HFTestTaskMemoryForeign))
            }.value
        }

        @Test func `A slab may be lent where the runtime chains them, and not where it keeps none`() async {
            await Task {
                #expect(hf_test_task_slab_agrees(HFTestTaskMemoryOwn))
                #expect(!hf_test_task_slab_agrees(HFTestTaskMemoryForeign))
                // The row of pieces leaves slabs behind.
                #expect(hf_test_task_memory_agrees(HFTestTaskMemoryOwn))
                #expect(hf_test_task_slab_agrees(HFTestTaskMemoryOwn))
            }.value
        }

        /// Frames from 16 bytes to more than a slab, to a depth at which slabs are made, and back again.
        @Test func `Frames of all sizes keep their values, on every thread`() async {
            await withTaskGroup(of: Int.self) { group in
                for seed in 0..<64 {
                    group.addTask { await descend(seed, 120) }
                }
                for await sum in group { #expect(sum == 120 * 121 / 2) }
            }
        }

        /// Bodies whose frames fit into a lent slab, and others for which the runtime frees it.
        @Test func `Frames of bodies keep their values, when their slabs are used again`() async throws {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for seed in 0..<64 {
                    group.addTask {
                        var sum = 0
                        for depth in [3, 12, 3, 120, 12] {
                            sum += try await FaultBoundary(.named("frames")).run {
                                let inner = try await FaultBoundary(.named("inner")).run { await descend(seed, depth) }
                                async let child = descend(seed + 1, depth)
                                return await inner + descend(seed + 2, depth) + child
                            }
                        }
                        return sum
                    }
                }
                for try await sum in group { #expect(sum == 3 * (2 * 6 + 2 * 78 + 7260)) }
            }
        }
    }
}

/// Keeps words across a call, in its frame.
@inline(never) @concurrent private func descend(_ seed: Int, _ depth: Int) async -> Int {
    guard depth > 0 else { return 0 }
    switch (seed + depth) % 4 {
    case 0: return await keep((depth, depth), depth, seed)
    case 1: return await keep(InlineArray<40, Int>(repeating: depth), depth, seed)
    case 2: return await keep(InlineArray<90, Int>(repeating: depth), depth, seed)
    default: return await keep(InlineArray<300, Int>(repeating: depth), depth, seed)
    }
}

@inline(never) @concurrent private func keep<Value>(_ value: Value, _ depth: Int, _ seed: Int) async -> Int {
    let copy = value
    if depth % 7 == 0 { await Task.yield() }
    let below = await descend(seed, depth - 1)
    let isKept = withUnsafeBytes(of: copy) { bytes in
        unsafe bytes.bindMemory(to: Int.self).allSatisfy { $0 == depth }
    }
    return isKept ? below + depth : Int.min / 2
}
