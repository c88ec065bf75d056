/// Blocks in the order in which they were queued, in chunks of memory.
///
/// An array would not do. When it grows it copies everything, with the loop's lock held, and a loop that is behind may have millions of
/// blocks waiting. Taking its first elements one by one would count references.
@safe
struct BlockList: ~Copyable {
    private typealias Chunk = UnsafeMutablePointer<BlockEntry>

    private static var chunkSize: Int { 256 }

    /// The chunks before the last, all of them full; those before `firstChunk` are freed already.
    private var fullChunks: [Chunk]
    private var firstChunk = 0
    private var lastChunk: Chunk?
    /// The place of the first block in its chunk.
    private var start = 0
    /// The place behind the last block in the last chunk.
    private var end = 0
    /// The number of blocks.
    private(set) var count = 0

    init() { unsafe fullChunks = [] }

    deinit {
        unsafe forEachPart {
            unsafe $0.deinitialize()
            return true
        }
        for index in unsafe firstChunk..<fullChunks.count { unsafe fullChunks[index].deallocate() }
        unsafe lastChunk?.deallocate()
    }

    var isEmpty: Bool { count == 0 }

    /// All blocks, the oldest first.
    var all: [BlockEntry] {
        var all: [BlockEntry] = []
        all.reserveCapacity(count)
        unsafe forEachPart {
            unsafe all.append(contentsOf: $0)
            return true
        }
        return all
    }

    /// Returns whether a condition holds for any block.
    func contains(where isWanted: (BlockEntry) -> Bool) -> Bool {
        var isFound = false
        unsafe forEachPart {
            isFound = unsafe $0.contains(where: isWanted)
            return !isFound
        }
        return isFound
    }

    /// Adds a block at the end.
    @inline(__always)
    mutating func append(_ block: __owned BlockEntry) {
        if unsafe lastChunk == nil || end == Self.chunkSize { beginChunk() }
        guard let lastChunk = unsafe lastChunk else { return }
        unsafe (lastChunk + end).initialize(to: block)
        end &+= 1
        count &+= 1
    }

    /// Removes the first block and returns it.
    @inline(__always)
    mutating func popFirst() -> BlockEntry? {
        guard count > 0, let lastChunk = unsafe lastChunk else { return nil }
        let chunk = unsafe firstChunk < fullChunks.count ? fullChunks[firstChunk] : lastChunk
        let block = unsafe (chunk + start).move()
        start &+= 1
        count &-= 1
        if count == 0 || start == Self.chunkSize { endChunk() }
        return block
    }

    /// Removes all blocks and returns them.
    mutating func removeAll() -> [BlockEntry] {
        let all = all
        while popFirst() != nil {}
        return all
    }

    /// Adds blocks at the end.
    mutating func append(contentsOf blocks: [BlockEntry]) {
        for block in blocks { append(block) }
    }

    // MARK: Chunks

    @inline(never)
    private mutating func beginChunk() {
        if let chunk = unsafe lastChunk { unsafe fullChunks.append(chunk) }
        unsafe lastChunk = .allocate(capacity: Self.chunkSize)
        end = 0
    }

    /// Leaves a chunk whose blocks were all taken; keeps one, for the next blocks.
    @inline(never)
    private mutating func endChunk() {
        if unsafe firstChunk < fullChunks.count {
            unsafe fullChunks[firstChunk].deallocate()
            firstChunk += 1
        }
        start = 0
        if count == 0 {
            unsafe fullChunks.removeAll(keepingCapacity: true)
            firstChunk = 0
            end = 0
        }
    }

    /// Calls `body` with the blocks of each chunk, the oldest first, as long as it returns true.
    private func forEachPart(_ body: (UnsafeMutableBufferPointer<BlockEntry>) -> Bool) {
        guard let lastChunk = unsafe lastChunk else { return }
        var start = start
        for index in unsafe firstChunk..<fullChunks.count {
            let rest = unsafe UnsafeMutableBufferPointer(
                start: fullChunks[index] + start,
                count: Self.chunkSize - start
            )
            guard unsafe body(rest) else { return }
            start = 0
        }
        _ = unsafe body(UnsafeMutableBufferPointer(start: lastChunk + start, count: end - start))
    }
}
