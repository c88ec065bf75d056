/// Numbers in bytes, the least significant byte first.
extension [UInt8] {
    mutating func append(_ number: some FixedWidthInteger) {
        unsafe Swift.withUnsafeBytes(of: number.littleEndian) { unsafe append(contentsOf: $0) }
    }

    mutating func replace(at offset: Int, with number: UInt64) {
        for index in 0..<8 { self[offset + index] = UInt8(truncatingIfNeeded: number >> UInt64(8 * index)) }
    }

    mutating func padToWord() {
        while count % 8 != 0 { append(UInt8(0)) }
    }
}

extension UInt64 {
    /// Takes eight bytes.
    init(littleEndianBytes bytes: [UInt8]) {
        self = bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// A checksum against accidents, some gigabytes a second.
///
/// It proves nothing about who wrote the bytes.
enum Checksum {
    /// The sum of the whole words of a part of the bytes.
    static func of(_ bytes: [UInt8], from start: Int, to end: Int) -> UInt64 {
        unsafe bytes.withUnsafeBytes { unsafe of(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
    }

    static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        // Two lanes: a multiplication takes three cycles, and the next can begin in each.
        var first: UInt64 = 0x9e37_79b9_7f4a_7c15
        var second: UInt64 = 0xc2b2_ae3d_27d4_eb4f
        var offset = 0
        let count = bytes.count
        while offset &+ 16 <= count {
            let one = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let two = unsafe bytes.loadUnaligned(fromByteOffset: offset &+ 8, as: UInt64.self)
            first = mix(first, UInt64(littleEndian: one))
            second = mix(second, UInt64(littleEndian: two))
            offset &+= 16
        }
        if offset &+ 8 <= count {
            let last = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            first = mix(first, UInt64(littleEndian: last))
        }
        return mix(mix(first, second), UInt64(count))
    }

    private static func mix(_ sum: UInt64, _ word: UInt64) -> UInt64 {
        let product = (sum ^ word) &* 0xff51_afd7_ed55_8ccd
        return product ^ (product >> 32)
    }
}
