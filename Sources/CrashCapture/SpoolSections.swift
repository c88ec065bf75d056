internal import CCrashCapture

/// Where in a spool file lies what belongs to few of its records: snapshots of the other threads, and memory.
struct SpoolSections {
    private let snapshotOffset: Int
    private let memoryOffset: Int
    private let memoryCount: Int
    /// One past the last byte.
    let end: Int

    /// Lays them out from an offset on, each on a multiple of 64 bytes.
    init(after offset: Int, hasMemory: Bool) {
        snapshotOffset = (offset + 63) & ~63
        memoryOffset = (snapshotOffset + MemoryLayout<HFThreadSnapshot>.size * Int(HF_SNAPSHOT_COUNT) + 63) & ~63
        memoryCount = hasMemory ? Int(HF_MEMORY_AREA_COUNT) : 0
        end = memoryOffset + MemoryLayout<HFMemoryArea>.size * memoryCount
    }

    /// Names the sections in the header.
    func write(to header: UnsafeMutablePointer<HFSpoolHeader>) {
        unsafe header.pointee.snapshot_offset = UInt32(snapshotOffset)
        unsafe header.pointee.snapshot_size = UInt32(MemoryLayout<HFThreadSnapshot>.size)
        unsafe header.pointee.snapshot_count = UInt32(HF_SNAPSHOT_COUNT)
        unsafe header.pointee.thread_entry_size = UInt32(MemoryLayout<HFThreadEntry>.size)
        unsafe header.pointee.memory_offset = UInt32(memoryOffset)
        unsafe header.pointee.memory_size = UInt32(MemoryLayout<HFMemoryArea>.size)
        unsafe header.pointee.memory_count = UInt32(memoryCount)
    }
}
