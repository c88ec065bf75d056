/// Blocks in the order in which they were queued, in segments of memory.
///
/// An array would not do. When it grows it copies everything, with the loop's lock held, and a loop that is behind may have millions of
/// blocks waiting. Taking its first elements one by one would count references.
struct BlockList: ~Copyable {
    // Both are `nil` while the list is empty.
    private var first: BlockSegment?
    private var last: BlockSegment?
    /// The place of the first block in the first segment.
    private var start = 0
    /// The number of blocks.
    private(set) var count = 0
    /// The segments whose blocks were all taken.
    var spares = BlockSegmentPool()

    init() {}

    deinit {
        var segment = first
        var start = start
        while let present = segment {
            for index in start..<present.used { _ = present.take(index) }
            start = 0
            segment = present.next
            present.free()
        }
    }

    var isEmpty: Bool { count == 0 }

    /// Returns whether a condition holds for any block.
    func contains(where isWanted: (borrowing BlockEntry) -> Bool) -> Bool {
        var segment = first
        var start = start
        while let present = segment {
            for index in start..<present.used where present.contains(at: index, where: isWanted) {
                return true
            }
            start = 0
            segment = present.next
        }
        return false
    }

    /// Adds a block at the end.
    mutating func append(_ block: consuming BlockEntry) {
        let segment = roomySegment()
        segment.fill(segment.used, with: block)
        segment.used += 1
        count &+= 1
    }

    /// Moves the blocks of another list to the end.
    mutating func append(contentsOf other: inout BlockList) {
        while let block = other.popFirst() { append(block) }
    }

    /// Adds segments with blocks at the end, of which the caller was the owner.
    mutating func append(from first: BlockSegment, to last: BlockSegment, count: Int) {
        if let end = self.last { end.next = first } else { self.first = first }
        self.last = last
        self.count += count
    }

    /// Removes the first block and returns it.
    @inline(__always)
    mutating func popFirst() -> BlockEntry? {
        guard count > 0, let first else { return nil }
        let block = first.take(start)
        start &+= 1
        count &-= 1
        if start == first.used { endSegment() }
        return block
    }

    /// Sorts by order; blocks with equal orders stay as they are.
    mutating func sort() {
        let count = count
        let blocks = UnsafeMutableBufferPointer<BlockEntry>.allocate(capacity: count)
        defer { unsafe blocks.deallocate() }
        var places: [(order: Int, index: Int)] = []
        while let block = popFirst() {
            places.append((block.order, places.count))
            unsafe blocks.initializeElement(at: places.count - 1, to: block)
        }
        // `sort` does not promise to be stable.
        places.sort { $0 < $1 }
        for place in places { unsafe append(blocks.moveElement(from: place.index)) }
    }

    // MARK: Segments

    @inline(__always)
    private mutating func roomySegment() -> BlockSegment {
        if let last, last.used < BlockSegment.capacity { return last }
        let segment = spares.take()
        if let last { last.next = segment } else { first = segment }
        last = segment
        return segment
    }

    /// Leaves a segment whose blocks were all taken.
    @inline(never)
    private mutating func endSegment() {
        guard let segment = first else { return }
        start = 0
        first = segment.next
        if first == nil { last = nil }
        spares.giveBack(segment)
    }
}
