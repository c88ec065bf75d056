/// Bytes of a crashed process, read by offset.
///
/// Every access is checked: a record may be cut off, half written or forged. What lies outside reads as zero or as "".
struct RecordBytes {
    private let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
    }

    var count: Int { bytes.count }

    /// A part; empty where there is none.
    func slice(_ offset: Int, _ count: Int) -> RecordBytes {
        guard offset >= 0, count >= 0, offset <= bytes.count, count <= bytes.count - offset else {
            return RecordBytes([])
        }
        let start = bytes.startIndex + offset
        return RecordBytes(bytes[start..<start + count])
    }

    /// A number in the byte order of the machine that wrote it: records are read where they were written.
    func integer<T: FixedWidthInteger>(_ offset: Int, as type: T.Type = T.self) -> T {
        let size = MemoryLayout<T>.size
        guard offset >= 0, offset <= bytes.count - size else { return 0 }
        var value: T = 0
        for index in (0..<size).reversed() {
            value = value << 8 | T(truncatingIfNeeded: bytes[bytes.startIndex + offset + index])
        }
        return value
    }

    /// A text that ends at a NUL or after `size` bytes; bytes that are not UTF-8 are replaced.
    func text(_ offset: Int, _ size: Int) -> String {
        String(decoding: slice(offset, size).bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// Bytes as they are; none where they are not all there.
    func bytes(_ offset: Int, _ count: Int) -> [UInt8] {
        Array(slice(offset, count).bytes)
    }

    /// Lowercase hexadecimal digits.
    func hexadecimal(_ offset: Int, _ count: Int) -> String {
        HexDigits.text(bytes(offset, count))
    }

    /// NUL-terminated texts one after the other.
    func texts(_ offset: Int, _ size: Int) -> [String] {
        slice(offset, size).bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast().map {
            String(decoding: $0, as: UTF8.self)
        }
    }
}
