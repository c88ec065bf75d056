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

    @Test(
        "Many that are due at once come in their order, and leave a heap behind",
        arguments: [40, 80, 200, 1024, 1500]
    )
    func batches(size: Int) throws {
        var random = SystemRandomNumberGenerator()
        for share in [0.0, 0.1, 0.25, 0.6, 1.0] {
            // Few dates, so that many are equal; as far apart as numbers can be; close together.
            for range in [0...20, Int64.min...Int64.max, 1_000_000...1_400_000] {
                let heap = TimerHeap<Int>()
                let deadlines = (0..<size).map { _ in Int64.random(in: range, using: &random) }
                var slots: [Int: Int] = [:]
                for (index, deadline) in deadlines.enumerated() {
                    slots[index] = heap.insert(index, at: deadline, latest: deadline)
                }
                // Some holes, and some whose place is not that of their making.
                var order = Array(deadlines.indices)
                for _ in 0..<size / 10 {
                    let moved = order.remove(at: Int.random(in: 0..<order.count, using: &random))
                    if Bool.random(using: &random) {
                        heap.schedule(slots[moved]!, at: deadlines[moved])
                        order.append(moved)
                    } else {
                        heap.remove(slots[moved]!)
                    }
                }
                let place = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
                let expected = order.sorted { (deadlines[$0], place[$0]!) < (deadlines[$1], place[$1]!) }
                let due = Int(Double(expected.count) * share)
                let limit = due == 0 ? Int64.min : deadlines[expected[due - 1]]
                let taken = expected.filter { deadlines[$0] <= limit }

                var found: [Int] = []
                var isComplete = false
                while !isComplete {
                    isComplete = heap.parkAll(notAfter: limit, atMost: 50) { slot, key in
                        found.append(heap.element(at: slot) ?? -1)
                        #expect(key.deadline == deadlines[found.last!])
                        #expect(!heap.isScheduled(slot))
                    }
                    #expect(heap.defects() == [])
                }
                #expect(found == taken)
                #expect(heap.count == expected.count)
                var rest: [Int] = []
                while let (slot, _) = heap.parkFirst(notAfter: .max) {
                    rest.append(try #require(heap.element(at: slot)))
                }
                #expect(rest == expected.filter { deadlines[$0] > limit })
            }
        }
    }

    @Test("After every change the shared deadline is that of a search from the beginning, and makes nobody too late")
    func sharedDeadline() throws {
        var random = SystemRandomNumberGenerator()
        for size in [1, 5, 30, 300] {
            let heap = TimerHeap<Int>()
            var times: [Int: (deadline: Int64, latest: Int64)] = [:]
            var slots: [Int] = []
            for index in 0..<size { slots.append(heap.insertParked(index)) }
            for step in 0..<4000 {
                let slot = slots[Int.random(in: 0..<size, using: &random)]
                if Int.random(in: 0..<4, using: &random) == 0 {
                    heap.park(slot)
                    times[slot] = nil
                } else {
                    let deadline = Int64(step / 20 + Int.random(in: 0..<60, using: &random))
                    let latest = deadline + [0, 2, 10, 1000].randomElement(using: &random)!
                    heap.schedule(slot, at: deadline, latest: latest)
                    times[slot] = (deadline, latest)
                }
                let shared = heap.sharedDeadline
                guard let shared else {
                    #expect(times.isEmpty)
                    continue
                }
                #expect(times.values.contains { $0.deadline == shared })
                #expect(times.values.allSatisfy { shared <= $0.latest })
                var latest = Int64.max
                var expected: [Int64] = []
                for time in times.values.sorted(by: { $0.deadline < $1.deadline }) where time.deadline <= latest {
                    latest = min(latest, time.latest)
                    expected.append(time.deadline)
                }
                // Fewer than a search looks at: exactly the last one.
                if expected.count < TimerHeap<Int>.looksPerSearch {
                    #expect(shared == expected.last || expected.contains(shared) && size == 300)
                }
            }
            #expect(heap.defects() == [])
        }
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
