internal import CCrashCapture

/// Copies of a few pieces of memory that may not be there.
///
/// Stack words are read one by one, and a system call for each would be most of a walk's time. The contexts of a task lie in a few pieces of
/// the heap, and are read twice.
@safe struct MemoryWindow: ~Copyable {
    private struct Piece {
        var start: UInt64 = 0
        var count: UInt64 = 0

        func holdsWord(at address: UInt64) -> Bool {
            address >= start && address - start < count && count - (address - start) >= 8
        }
    }

    private static var pieceSize: Int { 16 * 1024 }
    private static var pieceCount: Int { 4 }

    private let buffer: UnsafeMutableRawPointer
    private let pieces: UnsafeMutablePointer<Piece>
    /// The piece that was used last.
    private var current = 0
    /// Memory that is sure to be there.
    private var safe: Range<UInt64> = 0..<0

    init() {
        unsafe buffer = .allocate(byteCount: Self.pieceSize * Self.pieceCount, alignment: 16)
        unsafe pieces = .allocate(capacity: Self.pieceCount)
        unsafe pieces.initialize(repeating: Piece(), count: Self.pieceCount)
    }

    deinit {
        unsafe buffer.deallocate()
        unsafe pieces.deallocate()
    }

    /// Forgets the copies: the memory may have changed.
    ///
    /// - Parameter safe: Memory that is sure to be there, and is not copied.
    mutating func reset(safe: Range<UInt64> = 0..<0) {
        for piece in 0..<Self.pieceCount { unsafe pieces[piece].count = 0 }
        self.safe = safe
    }

    /// The word at an address, or nil if there is no memory.
    mutating func word(at address: UInt64) -> UInt64? {
        if address >= safe.lowerBound, address < safe.upperBound, safe.upperBound - address >= 8 {
            return unsafe UnsafeRawPointer(bitPattern: UInt(address))?.loadUnaligned(as: UInt64.self)
        }
        if unsafe !pieces[current].holdsWord(at: address) {
            current = piece(with: address) ?? (current + 1) % Self.pieceCount
            guard unsafe pieces[current].holdsWord(at: address) || read(address) else { return nil }
        }
        let offset = unsafe current * Self.pieceSize + Int(address - pieces[current].start)
        return unsafe buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    private func piece(with address: UInt64) -> Int? {
        for piece in 0..<Self.pieceCount where unsafe pieces[piece].holdsWord(at: address) { return piece }
        return nil
    }

    /// Reads the current piece, from the start of a page: a frame's registers lie below its return address, which is read first.
    private mutating func read(_ address: UInt64) -> Bool {
        let start = address & ~4095
        let count = unsafe hf_async_read_memory(start, buffer + current * Self.pieceSize, Self.pieceSize)
        unsafe pieces[current] = Piece(start: start, count: UInt64(count))
        return unsafe pieces[current].holdsWord(at: address)
    }
}
