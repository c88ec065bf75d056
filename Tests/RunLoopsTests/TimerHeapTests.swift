import Testing

@testable import RunLoops

@Suite("The heap of timers")
struct TimerHeapTests {
    @Test("Elements come by deadline, equal ones in the order of scheduling")
    func order() {
        var heap = TimerHeap<Int>()
        var random = SystemRandomNumberGenerator()
        let deadlines = (0..<500).map { _ in Int64.random(in: 0..<40, using: &random) }
        var slots: [Int: Int] = [:]
        for (index, deadline) in deadlines.enumerated() {
            let slot = heap.insertParked(index)
            heap.schedule(slot, at: deadline)
            slots[index] = slot
        }
        let expected = deadlines.indices.sorted { (deadlines[$0], $0) < (deadlines[$1], $1) }
        #expect(drain(&heap, slots: slots) == expected)
    }

    @Test("Removing and moving in the middle keep the order")
    func removal() {
        var heap = TimerHeap<Int>()
        var random = SystemRandomNumberGenerator()
        var slots: [Int: Int] = [:]
        var deadlines: [Int: Int64] = [:]
        for index in 0..<2000 {
            let deadline = Int64.random(in: 0..<1_000_000, using: &random)
            let slot = heap.insertParked(index)
            heap.schedule(slot, at: deadline)
            (slots[index], deadlines[index]) = (slot, deadline)
            if let victim = slots.randomElement(), index % 3 == 0 {
                #expect(heap.remove(victim.value) == victim.key)
                (slots[victim.key], deadlines[victim.key]) = (nil, nil)
            }
            if let moved = slots.randomElement(), index % 2 == 0 {
                let later = Int64.random(in: 0..<1_000_000, using: &random)
                heap.schedule(moved.value, at: later)
                deadlines[moved.key] = later
            }
        }
        #expect(heap.count == deadlines.count)
        let drained = drain(&heap, slots: slots).compactMap { deadlines[$0] }
        #expect(drained == deadlines.values.sorted())
    }

    @Test("A parked element is counted, but is neither first nor due")
    func parked() {
        var heap = TimerHeap<String>()
        let slot = heap.insertParked("a")
        heap.schedule(slot, at: 1)
        heap.schedule(heap.insertParked("b"), at: 2)
        heap.park(slot)
        #expect(heap.count == 2)
        #expect(heap.hasParkedElements)
        #expect(heap.earliestDeadline == 2)
        var due: [String] = []
        heap.visitAllDue(at: 5) { element, _ in due.append(element) }
        #expect(due == ["b"])
    }

    @Test("Exactly the due elements are visited")
    func due() {
        var heap = TimerHeap<Int>()
        for deadline in (0..<100).shuffled() {
            heap.schedule(heap.insertParked(deadline), at: Int64(deadline))
        }
        var due: Set<Int> = []
        heap.visitAllDue(at: 41) { element, _ in due.insert(element) }
        #expect(due == Set(0...41))
    }

    /// Removes everything in order.
    private func drain(_ heap: inout TimerHeap<Int>, slots: [Int: Int]) -> [Int] {
        var result: [Int] = []
        while let deadline = heap.earliestDeadline {
            var due: [(key: TimerHeap<Int>.Key, element: Int)] = []
            heap.visitAllDue(at: deadline) { element, key in due.append((key, element)) }
            due.sort { $0.key < $1.key }
            for (_, element) in due {
                result.append(element)
                if let slot = slots[element] {
                    _ = heap.remove(slot)
                }
            }
        }
        return result
    }
}
