internal import CCrashCapture
internal import Glibc

/// What handlers have written, read by copying.
extension CrashCapture {
    /// The bytes of the whole spool file as they are now: the process, its images, and every record.
    public func spoolBytes() -> [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(start: spool, count: spoolSize))
    }

    /// The bytes of a decided record, for the report writer.
    public func recordBytes(slot: UInt32) -> [UInt8] {
        let record = unsafe hf_capture_record(slot)
        return unsafe Array(UnsafeRawBufferPointer(start: record, count: MemoryLayout<HFRecord>.size))
    }

    /// The bytes of the record of a fault; nil if it was freed.
    ///
    /// Callable from any thread, in ordinary code. Whoever frees it meanwhile leaves the bytes of another: look at the number in them.
    public func recordBytes(ofFault number: Int) -> [UInt8]? {
        let count = unsafe spool.assumingMemoryBound(to: HFSpoolHeader.self).pointee.slot_count
        for slot in 0..<count where unsafe Int(hf_capture_record(slot).pointee.number) == number {
            return recordBytes(slot: slot)
        }
        return nil
    }

    /// The bytes of the snapshot of the other threads that belongs to a decided record, for the report writer; empty if there is none.
    public func threadBytes(slot: UInt32) -> [UInt8] {
        let header = unsafe spool.assumingMemoryBound(to: HFSpoolHeader.self)
        let number = unsafe hf_capture_record(slot).pointee.thread_snapshot
        guard number > 0, unsafe number <= header.pointee.snapshot_count else { return [] }
        let size = MemoryLayout<HFThreadSnapshot>.size
        let start = unsafe spool + Int(header.pointee.snapshot_offset) + (Int(number) - 1) * size
        let before = unsafe start.load(as: UInt32.self)
        let bytes = unsafe Array(UnsafeRawBufferPointer(start: start, count: size))
        // The last fault of a process takes a snapshot whose report is being written.
        return unsafe start.load(as: UInt32.self) == before ? bytes : []
    }

    /// The bytes of the memory that belongs to a decided record, for the report writer; empty if there is none.
    public func memoryBytes(slot: UInt32) -> [UInt8] {
        let header = unsafe spool.assumingMemoryBound(to: HFSpoolHeader.self)
        let number = unsafe hf_capture_record(slot).pointee.memory_area
        guard number > 0, unsafe number <= header.pointee.memory_count else { return [] }
        let size = MemoryLayout<HFMemoryArea>.size
        let start = unsafe spool + Int(header.pointee.memory_offset) + (Int(number) - 1) * size
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: size))
    }

    /// Takes the records over that the process before this one left in memory, and closes that.
    ///
    /// - Parameter descriptor: What `inheritedSpool` was there.
    /// - Returns: The bytes, as of a spool file; nil where it is nothing like that.
    public static func takeOverSpool(_ descriptor: CInt) -> [UInt8]? {
        var status = stat()
        // Above the standard three, and never another's: the environment is everybody's to write.
        guard descriptor > 2, hf_capture_is_memory_spool(descriptor), unsafe fstat(descriptor, &status) == 0,
            status.st_size < 1 << 28, hf_kept_is_trusted(status.st_uid, status.st_gid)
        else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
        return count == bytes.count ? bytes : nil
    }

    /// Makes the spool whole again where somebody has cut its file; says how often that was done so far.
    ///
    /// Callable from any thread, in ordinary code. Handlers do it by themselves, before they write.
    public func mendSpool() -> Int {
        hf_capture_check_spool()
        return Int(hf_capture_spool_mends())
    }
}
