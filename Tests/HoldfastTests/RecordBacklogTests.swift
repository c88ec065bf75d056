import Testing

@testable import Holdfast

/// Which records wait, and which share a slot.
@Suite struct RecordBacklogTests {
    private static func add(_ backlog: inout RecordBacklog, _ slots: Range<UInt32>, key: Int) -> [UInt32?] {
        slots.map { backlog.add($0) { key } }
    }

    @Test func `A few records wait by themselves, equal or not`() {
        var backlog = RecordBacklog()
        let added = Self.add(&backlog, 0..<UInt32(RecordBacklog.roomy), key: 1)
        #expect(added.allSatisfy { $0 == nil })
        #expect(backlog.take() == Array(0..<UInt32(RecordBacklog.roomy)))
        #expect(backlog.isEmpty)
    }

    @Test func `Where many wait, equal ones share the slot of the first`() {
        var backlog = RecordBacklog()
        let few = UInt32(RecordBacklog.roomy)
        _ = Self.add(&backlog, 0..<few, key: 1)
        #expect(Self.add(&backlog, few..<few + 3, key: 1) == [nil, few, few])
        #expect(Self.add(&backlog, few + 3..<few + 5, key: 2) == [nil, few + 3])
        #expect(backlog.add(few + 5, key: { nil }) == nil, "what cannot be told is shared with nothing")
        #expect(backlog.take() == Array(0...few) + [few + 3, few + 5])
    }

    @Test func `What is being written is shared no more, and what waits behind it still is`() {
        var backlog = RecordBacklog()
        let batch = UInt32(RecordBacklog.batch)
        for slot in 0..<batch + 2 { #expect(backlog.add(slot) { Int(slot) } == nil) }
        #expect(backlog.take() == Array(0..<batch))
        #expect(!backlog.isEmpty)
        for slot in 200..<200 + UInt32(RecordBacklog.roomy) { #expect(backlog.add(slot) { Int(slot) } == nil) }
        #expect(backlog.add(250) { Int(batch) - 1 } == nil)
        #expect(backlog.add(251) { Int(batch) + 1 } == batch + 1)
    }

    @Test func `What could not be written waits in front, and is shared`() {
        var backlog = RecordBacklog()
        let few = UInt32(RecordBacklog.roomy)
        _ = Self.add(&backlog, 0..<few, key: 1)
        let failed = Array(backlog.take().prefix(3))
        for slot in 100..<100 + few { #expect(backlog.add(slot) { 7 } == nil) }
        backlog.putBack(failed, keys: [1, nil, 1])
        #expect(backlog.add(200) { 1 } == failed[0], "the one that waits longest")
        #expect(backlog.take() == failed + Array(100..<100 + few))
    }
}
