/// Segments that wait for the next blocks.
///
/// A loop that is behind needs as many again soon, and the kernel takes longer to provide memory than a loop to fill it.
struct BlockSegmentPool: ~Copyable {
    /// The most that are kept: 8 megabytes.
    private static var most: Int { 128 }

    private var first: BlockSegment?
    private var last: BlockSegment?
    private(set) var count = 0

    init() {}

    deinit {
        var segment = first
        while let present = segment {
            segment = present.next
            present.free()
        }
    }

    /// Takes a segment; makes one if there is none.
    mutating func take() -> BlockSegment {
        guard let segment = first else { return BlockSegment() }
        first = segment.next
        if first == nil { last = nil }
        count -= 1
        segment.next = nil
        return segment
    }

    /// Gives a segment back, all of whose blocks were taken.
    mutating func giveBack(_ segment: BlockSegment) {
        guard count < Self.most else { return segment.free() }
        segment.used = 0
        segment.next = first
        if first == nil { last = segment }
        first = segment
        count += 1
    }

    /// Takes over the segments of another pool, and has `limit` then at most, which are not fewer.
    mutating func absorb(_ other: inout BlockSegmentPool, limit: Int) {
        while count + other.count > limit { take().free() }
        guard let otherFirst = other.first, let otherLast = other.last else { return }
        otherLast.next = first
        if first == nil { last = otherLast }
        first = otherFirst
        count += other.count
        (other.first, other.last, other.count) = (nil, nil, 0)
    }
}
