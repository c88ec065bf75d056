import Testing

@testable import RunLoops

@Suite("The heap of timers")
struct TimerHeapTests {
    @Test("Elements come by deadline, equal ones in the order of scheduling")
    func order() {
        let heap = TimerHeap<Int>()
        var random = SystemRandomNumberGenerator()
        let deadlines = (0..<500).map { _ in Int64.random(in: 0..<40, using: &random) }
        var slots: [Int: Int] = [:]
        for (index, deadline) in deadlines.enumerated() {
            let slot = heap.insertParked(index)
            heap.schedule(slot, at: deadline)
            slots[index] = slot
        }
        let expected = deadlines.indices.sorted { (deadlines[$0], $0) < (deadlines[$1], $1) }
        #expect(drain(heap, slots: slots) == expected)
    }

    @Test("Removing and moving in the middle keep the order")
    func removal() {
        let heap = TimerHeap<Int>()
        var random = SystemRandomNumberGenerator()
        var slots: [Int: Int] = [:]
        var deadlines: [Int: Int64] = [:]
        for index in 0..<2000 {
            let deadline = Int64.random(in: 0..<1_000_000, using: &random)
            let slot = heap.insertParked(index)
            heap.schedule(slot, at: deadline)
            (slots[index], deadlines[index]) = (slot, deadline)
            if let victim = slots.randomElement(), index % 3 == 0 {
                #expect(heap.element(at: victim.value) == victim.key)
                heap.remove(victim.value)
                #expect(heap.element(at: victim.value) == nil)
                (slots[victim.key], deadlines[victim.key]) = (nil, nil)
            }
            if let moved = slots.randomElement(), index % 2 == 0 {
                let later = Int64.random(in: 0..<1_000_000, using: &random)
                heap.schedule(moved.value, at: later)
                deadlines[moved.key] = later
            }
        }
        #expect(heap.count == deadlines.count)
        let drained = drain(heap, slots: slots).compactMap { deadlines[$0] }
        #expect(drained == deadlines.values.sorted())
    }

    @Test("A parked element is counted, but is neither first nor due")
    func parked() {
        let heap = TimerHeap<String>()
        let slot = heap.insertParked("a")
        heap.schedule(slot, at: 1)
        heap.schedule(heap.insertParked("b"), at: 2)
        heap.park(slot)
        #expect(heap.count == 2)
        #expect(heap.hasParkedElements)
        #expect(heap.earliestDeadline == 2)
        let taken = heap.parkFirst(notAfter: 5)
        #expect(taken.flatMap { heap.element(at: $0.slot) } == "b")
        let nothing = heap.parkFirst(notAfter: 5)
        #expect(nothing == nil)
        #expect(heap.count == 2)
    }

    @Test("What was taken goes back where it was, in front of what came later with the same deadline")
    func restored() throws {
        let heap = TimerHeap<String>()
        heap.schedule(heap.insertParked("a"), at: 1)
        heap.schedule(heap.insertParked("b"), at: 1)
        let parked = heap.parkFirst(notAfter: 1)
        let first = try #require(parked)
        heap.schedule(heap.insertParked("c"), at: 1)
        heap.restore(first.slot, to: first.key)
        var order: [String] = []
        while let (slot, _) = heap.parkFirst(notAfter: 1) { order.append(try #require(heap.element(at: slot))) }
        #expect(order == ["a", "b", "c"])
    }

    @Test("Exactly the elements up to a limit are visited, and the limit can be lowered on the way")
    func due() {
        let heap = TimerHeap<Int>()
        for deadline in (0..<100).shuffled() {
            heap.schedule(heap.insertParked(deadline), at: Int64(deadline))
        }
        var visited: Set<Int> = []
        heap.visit(notAfter: 41) { element, _ in
            visited.insert(element)
            return 41
        }
        #expect(visited == Set(0...41))
        var lowest: Set<Int> = []
        heap.visit(notAfter: .max) { element, key in
            lowest.insert(element)
            return min(key.deadline, 10)
        }
        #expect(lowest.isSuperset(of: [0]))
        #expect(lowest.allSatisfy { $0 <= 10 })
    }

    @Test("Exactly the due elements are taken, in order")
    func taken() throws {
        let heap = TimerHeap<Int>()
        for deadline in (0..<100).shuffled() {
            heap.schedule(heap.insertParked(deadline), at: Int64(deadline))
        }
        var due: [Int] = []
        while let (slot, _) = heap.parkFirst(notAfter: 41) { due.append(try #require(heap.element(at: slot))) }
        #expect(due == Array(0...41))
    }

    /// Removes everything in order.
    private func drain(_ heap: TimerHeap<Int>, slots: [Int: Int]) -> [Int] {
        var result: [Int] = []
        while let (slot, _) = heap.parkFirst(notAfter: .max) {
            guard let element = heap.element(at: slot) else { continue }
            #expect(slots[element] == slot)
            result.append(element)
            heap.remove(slot)
        }
        return result
    }
}
