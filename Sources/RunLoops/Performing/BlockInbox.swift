import Synchronization

/// The end of a queue of blocks at which any thread adds, without a lock.
///
/// One word names the last segment and counts the places in it that were claimed. Adding one to the word claims a place and tells whose
/// segment it is in, in one step: so a segment that has unclaimed places is never in the hands of a thread, and can be taken away and used
/// again. Once in `BlockSegment.capacity` blocks, and for the first one, a segment is missing. Then, and to take the blocks, the loop's
/// lock is held.
///
/// Claiming is sequentially consistent, as is the exchange by which the blocks are taken. So a thread that looks at the wake state after
/// claiming, and finds that it need not wake the loop, has its block taken by the pass that follows. The place may not be filled by then:
/// whoever takes the block waits for that.
final class BlockInbox: @unchecked Sendable {
    /// A place that the calling thread has claimed and must fill.
    struct Place {
        fileprivate let segment: BlockSegment
        fileprivate let index: Int

        @inline(__always)
        func fill(with block: consuming BlockEntry) { segment.fill(index, with: block) }
    }

    // The last bits of a segment's address are free, and the first 17 of every address (Documentation/arch/x86/x86_64/mm.rst in the
    // kernel): 22 bits are left for the count. It goes beyond the capacity by one for each thread that finds the segment full, and such a
    // thread sets it right with the lock held.
    private static var addressShift: UInt64 { 16 }
    private static var countMask: UInt64 { (UInt64(BlockSegment.alignment) << addressShift) - 1 }
    /// No segment: a full one at the address 0.
    private static var none: UInt64 { UInt64(BlockSegment.capacity) }

    /// How many segments are kept in any case: 1.5 megabytes.
    private static var usuallyKept: Int { 24 }

    private let word = Atomic<UInt64>(BlockInbox.none)

    // Protected by the loop's lock.
    @safe @exclusivity(unchecked) private var first: BlockSegment?
    /// The number of blocks in the segments before the last.
    @safe @exclusivity(unchecked) private var fullCount = 0
    @safe @exclusivity(unchecked) private var pool = BlockSegmentPool()
    /// How many segments are kept: as many as came back at once, and an eighth less each time after that.
    @safe @exclusivity(unchecked) private(set) var keptSegments = BlockInbox.usuallyKept

    deinit {
        var rest = BlockList()
        takeAll(into: &rest, isLast: true)
    }

    // MARK: Any thread

    /// Whether no block was added; a block counts before its place is filled.
    @inline(__always)
    var isEmpty: Bool {
        let word = word.load(ordering: .sequentiallyConsistent)
        return word & Self.countMask == 0 || word & ~Self.countMask == 0
    }

    /// Claims a place; `nil` if that needs a segment.
    ///
    /// The caller must fill it, and must not be abandoned before.
    @inline(__always)
    func claim() -> Place? {
        let old = word.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
        let index = Int(old & Self.countMask)
        guard index < BlockSegment.capacity, let segment = Self.segment(of: old) else { return nil }
        return Place(segment: segment, index: index)
    }

    @inline(__always)
    private static func segment(of word: UInt64) -> BlockSegment? {
        BlockSegment(address: UInt((word & ~countMask) >> addressShift))
    }

    private static func word(for segment: BlockSegment, count: Int) -> UInt64 {
        assert(UInt64(segment.address) >> 47 == 0)
        return UInt64(segment.address) << addressShift | UInt64(count)
    }

    // MARK: With the loop's lock held

    /// The number of blocks.
    var count: Int {
        let word = word.load(ordering: .sequentiallyConsistent)
        guard Self.segment(of: word) != nil else { return 0 }
        return fullCount + Self.claimed(in: word)
    }

    private static func claimed(in word: UInt64) -> Int { min(Int(word & countMask), BlockSegment.capacity) }

    /// Claims a place, in a new segment if necessary.
    func claimWithLock() -> Place {
        if let place = claim() { return place }
        let segment = pool.take()
        if let full = Self.segment(of: word.load(ordering: .relaxed)) {
            full.used = BlockSegment.capacity
            full.next = segment
            fullCount += BlockSegment.capacity
        } else {
            first = segment
        }
        // What others have added to the old word since does not count: they found no place, and wait for the lock.
        word.store(Self.word(for: segment, count: 1), ordering: .sequentiallyConsistent)
        return Place(segment: segment, index: 0)
    }

    /// Sets the count right when no more blocks are accepted.
    func refuse() { word.store(Self.none, ordering: .relaxed) }

    /// Takes over segments that a list has left.
    func absorb(_ spares: inout BlockSegmentPool) {
        if spares.count > 1 || keptSegments > Self.usuallyKept {
            keptSegments = max(Self.usuallyKept, spares.count, keptSegments - keptSegments / 8)
        }
        pool.absorb(&spares, limit: keptSegments)
    }

    /// Moves all blocks to the end of a list.
    ///
    /// - Parameters:
    ///   - list: The list.
    ///   - isLast: Whether no more blocks are accepted: from now on, none is added without the lock.
    func takeAll(into list: inout BlockList, isLast: Bool) {
        if !isLast, isEmpty { return }
        let next = isLast ? nil : pool.take()
        let old = word.exchange(
            next.map { Self.word(for: $0, count: 0) } ?? Self.none,
            ordering: .sequentiallyConsistent
        )
        let claimed = Self.claimed(in: old)
        if let first, let last = Self.segment(of: old) {
            last.used = claimed
            if claimed > 0 {
                list.append(from: first, to: last, count: fullCount + claimed)
            } else {
                pool.giveBack(last)
            }
        }
        (first, fullCount) = (next, 0)
    }

    /// Returns whether a condition holds for any block.
    func contains(where isWanted: (borrowing BlockEntry) -> Bool) -> Bool {
        let word = word.load(ordering: .sequentiallyConsistent)
        let last = Self.segment(of: word)
        var segment = first
        while let present = segment {
            let isLast = present.address == last?.address
            let count = isLast ? Self.claimed(in: word) : BlockSegment.capacity
            for index in 0..<count where present.contains(at: index, where: isWanted) { return true }
            segment = isLast ? nil : present.next
        }
        return false
    }
}
