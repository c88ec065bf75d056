internal import CCrashCapture

/// A copy of a piece of memory that may not be there: stack words are read one by one, and a system call for each would be
/// most of a walk's time.
@safe struct MemoryWindow: ~Copyable {
    private static var size: Int { 16 * 1024 }

    private let buffer: UnsafeMutableRawPointer
    private var start: UInt64 = 0
    private var count: UInt64 = 0

    init() {
        unsafe buffer = .allocate(byteCount: Self.size, alignment: 16)
    }

    deinit {
        unsafe buffer.deallocate()
    }

    /// Forgets the copy: the memory may have changed.
    mutating func reset() {
        count = 0
    }

    /// The word at an address, or nil where there is no memory.
    mutating func word(at address: UInt64) -> UInt64? {
        if address < start || address - start >= count || count - (address - start) < 8 {
            start = address
            count = unsafe UInt64(hf_async_read_memory(address, buffer, Self.size))
            guard count >= 8 else {
                count = 0
                return nil
            }
        }
        return unsafe buffer.loadUnaligned(fromByteOffset: Int(address - start), as: UInt64.self)
    }
}
