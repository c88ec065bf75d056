/// A place in a call frame table, from which numbers are read one after the other; after the first that is missing, all are 0.
struct CallFrameCursor {
    private let walker: StackWalker
    /// Where the next number is.
    private(set) var address: UInt64
    private(set) var end: UInt64
    /// Whether a number was missing, so that what was read is worth nothing.
    private(set) var hasFailed = false

    init(in walker: StackWalker, from address: UInt64, to end: UInt64) {
        self.walker = walker
        self.address = address
        self.end = end
    }

    /// Whether there is more.
    var isAtEnd: Bool { hasFailed || address >= end }

    /// Shortens what may be read, to a part that says how long it is.
    mutating func limit(to count: UInt64) {
        guard address <= end, count <= end - address else { return fail() }
        end = address + count
    }

    mutating func skip(_ count: UInt64) {
        guard address <= end, count <= end - address else { return fail() }
        address += count
    }

    mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: word(of: 1)) }

    mutating func half() -> UInt16 { UInt16(truncatingIfNeeded: word(of: 2)) }

    mutating func single() -> UInt32 { UInt32(truncatingIfNeeded: word(of: 4)) }

    /// DWARF 5, 7.6: seven bits a byte, the lowest first.
    mutating func unsignedLEB() -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = byte()
            if shift < 64 { value |= UInt64(byte & 0x7f) << shift }
            shift += 7
            if byte & 0x80 == 0 { return value }
        }
    }

    mutating func signedLEB() -> Int64 {
        var value: Int64 = 0
        var shift: Int64 = 0
        while true {
            let byte = byte()
            if shift < 64 { value |= Int64(byte & 0x7f) << shift }
            shift += 7
            guard byte & 0x80 == 0 else { continue }
            if byte & 0x40 != 0, shift < 64 { value |= -1 << shift }
            return value
        }
    }

    private mutating func word(of count: UInt64) -> UInt64 {
        guard !hasFailed, address < end, end - address >= count, let word = walker.load(address) else {
            fail()
            return 0
        }
        address += count
        return word
    }

    private mutating func fail() {
        hasFailed = true
    }
}
