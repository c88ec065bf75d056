import TestSupport
import Testing

@testable import RunLoops

@Suite("The invariants of a loop", .timeLimit(.minutes(10)))
struct InvariantTests {
    /// A loop with some of everything, and what a change to it breaks.
    private func violations(
        _ change: @escaping @Sendable (HostRunLoop, LoopMode) -> Void
    ) throws -> [String] {
        try onNewThread { loop in
            let pipe = TestPipe()
            try loop.add(pipe.portSource("p") { _ in })
            loop.add(HostRunLoop.Source(label: "s") { _ in }, to: .common)
            for count in 1...9 {
                loop.add(HostRunLoop.Timer(label: "t", after: .seconds(500 + count)) { _ in }, to: .common)
                loop.add(HostRunLoop.Observer(label: "o", activities: .exit, order: count) { _, _ in })
            }
            loop.addCommonMode("other")
            loop.performWithoutWaking(in: "other") {}
            loop.run(for: .zero)
            let mode = try #require(loop.lock.withLock { loop.modes[.default] })
            #expect(loop.invariantViolations() == [])
            change(loop, mode)
            return loop.invariantViolations().map(\.description)
        }
    }

    @Test("An untouched loop has no violations")
    func healthy() throws {
        #expect(try violations { _, _ in } == [])
    }

    @Test("A wrong count is seen")
    func counts() throws {
        let found = try violations { loop, mode in
            mode.damage(.itemCount)
            mode.damage(.descriptorCount)
            loop.blocks.damageCount()
            loop.runs.damageCount()
        }
        #expect(found.count == 4)
        #expect(found.contains { $0.contains("items") })
        #expect(found.contains { $0.contains("descriptors") })
        #expect(found.contains { $0.contains("blocks") })
        #expect(found.contains { $0.contains("runs") })
    }

    @Test("A deadline that is not that of the earliest timer is seen")
    func deadline() throws {
        let found = try violations { _, mode in mode.damage(.deadline(1)) }
        #expect(found.count == 1)
        #expect(found.first?.contains("deadline is 1") == true)
    }

    @Test("A timer that is out of the order outside of its callout is seen")
    func parked() throws {
        let found = try violations { _, mode in
            var timer: HostRunLoop.Timer?
            mode.timers.visitAll { timer = $0 }
            if let slot = timer?.memberships.membership(in: mode)?.slot {
                mode.timers.park(slot)
            }
        }
        #expect(found.count == 1)
        #expect(found.first?.contains("firing") == true)
    }

    @Test("An item that is missing in its mode, and a mode with an item that does not know it, are seen")
    func memberships() throws {
        let lost = try violations { loop, mode in
            loop.lock.withLock {
                mode.damage(.lostObserver)
                if let source = mode.sources[0] {
                    source.withItemLock { source.memberships = Memberships() }
                }
            }
        }
        // The observer is known to nobody now; the source is in two modes, and among the common items.
        #expect(lost.count == 3)
        #expect(lost.count { $0.contains("does not know its place") } == 2)
        #expect(lost.count { $0.contains("does not know that it is one") } == 1)
        let missing = try violations { loop, mode in
            loop.lock.withLock { mode.damage(.lostSource) }
        }
        #expect(missing.contains { $0.contains("is missing") })
        #expect(missing.contains { $0.contains("count of items") })
    }

    @Test("Observers out of order, or with a stage that the mode does not know of, are seen")
    func observers() throws {
        let found = try violations { _, mode in
            mode.damage(.observerOrder)
            mode.damage(.observedActivities)
        }
        #expect(found.count == 2)
    }

    @Test("A heap of timers that schedules, parks and removes at random has no defects")
    func heap() {
        let heap = TimerHeap<Int>()
        var generator = SystemRandomNumberGenerator()
        var slots = (0..<200).map { heap.insertParked($0) }
        for slot in slots { heap.schedule(slot, at: .random(in: 0..<50, using: &generator)) }
        #expect(heap.defects() == [])
        for _ in 0..<300 {
            guard let slot = slots.randomElement(using: &generator) else { break }
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: heap.park(slot)
            case 1: heap.schedule(slot, at: .random(in: 0..<50, using: &generator))
            default:
                heap.remove(slot)
                slots.removeAll { $0 == slot }
            }
            #expect(heap.defects() == [])
            #expect(heap.count == slots.count)
        }
    }

    #if DEBUG
    @Test("A debug build ends at the end of a pass in which the loop broke")
    func endsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            synchronously {
                let loop = HostRunLoop.current
                loop.add(HostRunLoop.Source(label: "s") { _ in })
                loop.performWithoutWaking {
                    loop.lock.withLock { loop.modes[.default] }?.damage(.itemCount)
                }
                loop.run(for: .zero)
            }
        }
    }
    #endif
}
