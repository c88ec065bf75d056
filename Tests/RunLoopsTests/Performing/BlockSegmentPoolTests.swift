import Testing

@testable import RunLoops

/// How many segments a loop keeps for its next blocks.
@Suite struct BlockSegmentPoolTests {
    /// A batch of segments.
    private static func batch(_ count: Int) -> BlockSegmentPool {
        var batch = BlockSegmentPool()
        for _ in 0..<count { batch.giveBack(BlockSegment()) }
        return batch
    }

    @Test("Some are always kept; those of a large batch, only while others follow soon")
    func kept() {
        let inbox = BlockInbox()
        let sizes = [1, 10, 80, 1, 81, 1, 1].map { count in
            var batch = Self.batch(count)
            inbox.absorb(&batch)
            #expect(batch.count == 0)
            return inbox.keptSegments
        }
        #expect(sizes == [24, 24, 80, 70, 81, 71, 63])
        for _ in 0..<20 {
            var batch = Self.batch(1)
            inbox.absorb(&batch)
        }
        #expect(inbox.keptSegments == 24)
    }

    @Test("A pool keeps what it is told, and never more than the most")
    func most() {
        var pool = Self.batch(20)
        var other = Self.batch(10)
        pool.absorb(&other, limit: 24)
        #expect(pool.count == 24)
        let large = Self.batch(200)
        #expect(large.count == 128)
    }

    @Test("A segment comes out as if it were new")
    func reused() {
        var pool = Self.batch(2)
        let segment = pool.take()
        #expect(segment.next == nil)
        #expect(segment.used == 0)
        #expect(pool.count == 1)
        segment.free()
    }
}
