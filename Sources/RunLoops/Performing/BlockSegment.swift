import Glibc
import LinuxSystem
import Synchronization

/// A piece of memory with places for blocks, and the next piece of the same queue.
///
/// A place is filled by the one thread that has claimed it, and emptied by the one that owns the segment. Between claiming and filling lie
/// a few instructions, in a critical section, so whoever takes from a segment waits for a claimed place to be filled.
@safe
struct BlockSegment: @unchecked Sendable {
    /// The bytes of a segment, which the kernel provides.
    ///
    /// malloc(3) gathers all small pieces that were freed when it is asked for a large one (`malloc_consolidate` in glibc): here, those of
    /// the closures that have run, which the next closures need.
    private static var size: Int { 65_536 }
    /// How many blocks have room in a segment.
    static var capacity: Int { (size - headerSize) / placeSize }
    /// Segments begin with a cache line, so the last bits of their addresses are free.
    static var alignment: Int { 64 }

    private static var headerSize: Int { MemoryLayout<Header>.size }
    private static var placeSize: Int { MemoryLayout<BlockEntry>.stride }
    /// The place of the flag behind its block, where the stride of a block leaves room.
    private static var flagOffset: Int { MemoryLayout<BlockEntry>.size }

    private struct Header {
        var next: BlockSegment?
        var used: Int
    }

    private let base: UnsafeMutableRawPointer

    /// Makes a segment without blocks, which its owner must free.
    init() {
        assert(Self.flagOffset < Self.placeSize)
        let memory = unsafe mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory = unsafe memory, unsafe memory != MAP_FAILED else {
            preconditionFailure("out of memory for the blocks of a run loop")
        }
        // All flags are zero.
        unsafe base = memory
        unsafe base.initializeMemory(as: Header.self, to: Header(next: nil, used: 0))
    }

    /// The segment at an address; `nil` for 0.
    init?(address: UInt) {
        guard let base = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return nil }
        unsafe self.base = unsafe base
    }

    var address: UInt { unsafe UInt(bitPattern: base) }

    /// Gives the memory of a segment back, all of whose blocks were taken.
    func free() { unsafe munmap(base, Self.size) }

    // MARK: Places

    @inline(__always)
    private func entry(_ index: Int) -> UnsafeMutablePointer<BlockEntry> {
        unsafe (base + Self.headerSize + index &* Self.placeSize).assumingMemoryBound(to: BlockEntry.self)
    }

    @inline(__always)
    private func flag(_ index: Int) -> UnsafeMutablePointer<Atomic<UInt8>> {
        unsafe (base + Self.headerSize + index &* Self.placeSize + Self.flagOffset)
            .assumingMemoryBound(to: Atomic<UInt8>.self)
    }

    /// Fills a place that the caller has claimed.
    @inline(__always)
    func fill(_ index: Int, with block: consuming BlockEntry) {
        unsafe entry(index).initialize(to: block)
        unsafe flag(index).pointee.store(1, ordering: .releasing)
    }

    /// Empties a place that was claimed.
    @inline(__always)
    func take(_ index: Int) -> BlockEntry {
        waitUntilFilled(index)
        prefetchContext(min(index &+ 4, Self.capacity &- 1))
        unsafe flag(index).pointee.store(0, ordering: .relaxed)
        return unsafe entry(index).move()
    }

    /// Asks for the memory behind the block in a place, which is the second word of either kind, or its first.
    @inline(__always)
    private func prefetchContext(_ index: Int) {
        guard unsafe flag(index).pointee.load(ordering: .acquiring) != 0 else { return }
        let words = unsafe UnsafeRawPointer(entry(index))
        Prefetch.object(at: unsafe words.load(fromByteOffset: MemoryLayout<UInt>.size, as: UInt.self))
    }

    /// Returns whether a condition holds for the block in a place that was claimed.
    func contains(at index: Int, where isWanted: (borrowing BlockEntry) -> Bool) -> Bool {
        waitUntilFilled(index)
        return unsafe isWanted(entry(index).pointee)
    }

    @inline(__always)
    private func waitUntilFilled(_ index: Int) {
        if unsafe flag(index).pointee.load(ordering: .acquiring) == 0 { waitLonger(index) }
    }

    /// Waits for a thread that was interrupted between claiming and filling.
    @inline(never)
    private func waitLonger(_ index: Int) {
        var wait = SpinWait()
        while unsafe flag(index).pointee.load(ordering: .acquiring) == 0 { wait.pause() }
    }

    // MARK: The owner's notes

    /// The next segment of the queue.
    var next: BlockSegment? {
        get { unsafe header.pointee.next }
        nonmutating set { unsafe header.pointee.next = newValue }
    }

    /// How many places are claimed, once no thread can claim one any more.
    @inline(__always)
    var used: Int {
        get { unsafe header.pointee.used }
        nonmutating set { unsafe header.pointee.used = newValue }
    }

    @inline(__always)
    private var header: UnsafeMutablePointer<Header> { unsafe base.assumingMemoryBound(to: Header.self) }
}
