internal import CCrashCapture

/// A copy of a piece of memory that may not be there.
///
/// Stack words are read one by one, and a system call for each would be most of a walk's time.
@safe struct MemoryWindow: ~Copyable {
    private static var size: Int { 16 * 1024 }

    private let buffer: UnsafeMutableRawPointer
    private var start: UInt64 = 0
    private var count: UInt64 = 0
    /// Memory that is sure to be there.
    private var safe: Range<UInt64> = 0..<0

    init() {
        unsafe buffer = .allocate(byteCount: Self.size, alignment: 16)
    }

    deinit {
        unsafe buffer.deallocate()
    }

    /// Forgets the copy: the memory may have changed.
    ///
    /// - Parameter safe: Memory that is sure to be there, and is not copied.
    mutating func reset(safe: Range<UInt64> = 0..<0) {
        count = 0
        self.safe = safe
    }

    /// The word at an address, or nil if there is no memory.
    mutating func word(at address: UInt64) -> UInt64? {
        if address >= safe.lowerBound, address < safe.upperBound, safe.upperBound - address >= 8 {
            return unsafe UnsafeRawPointer(bitPattern: UInt(address))?.loadUnaligned(as: UInt64.self)
        }
        if address < start || address - start >= count || count - (address - start) < 8 {
            // From the start of its page: a frame's registers lie below its return address, which is read first.
            start = address & ~4095
            count = unsafe UInt64(hf_async_read_memory(start, buffer, Self.size))
            guard count >= 8, address - start <= count - 8 else {
                count = 0
                return nil
            }
        }
        return unsafe buffer.loadUnaligned(fromByteOffset: Int(address - start), as: UInt64.self)
    }
}
