internal import LinuxSystem

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

    /// A number, at any address, in the byte order of the machine that wrote it: records are read where they were written.
    func integer<T: FixedWidthInteger>(_ offset: Int, as type: T.Type = T.self) -> T {
        guard offset >= 0, offset <= bytes.count - MemoryLayout<T>.size else { return 0 }
        return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: T.self) }
    }

    /// A text that ends at a NUL or after `size` bytes; bytes that are not UTF-8 are replaced.
    func text(_ offset: Int, _ size: Int) -> String {
        String(decoding: slice(offset, size).bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// Bytes as they are; none where they are not all there.
    func bytes(_ offset: Int, _ count: Int) -> [UInt8] {
        Array(slice(offset, count).bytes)
    }

    /// NUL-terminated texts one after the other.
    func texts(_ offset: Int, _ size: Int) -> [String] {
        slice(offset, size).bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast().map {
            String(decoding: $0, as: UTF8.self)
        }
    }
}

/// Bytes read as a structure of CRecordLayout, field by field.
///
/// The bytes may lie anywhere and be too few: each field is looked up by its offset, and what is not there reads as zero or as "".
///
/// All is inlined: then the compiler knows the offsets. A key path to an array of C would make the type of a tuple at run time, with an
/// element for each byte: 1.5 ms of a restart.
@dynamicMemberLookup
struct RecordView<Layout> {
    let storage: RecordBytes

    /// How many bytes the structure has.
    static var size: Int { MemoryLayout<Layout>.size }

    init(_ storage: RecordBytes) {
        self.storage = storage
    }

    /// Whether no field is cut off.
    var isWhole: Bool { storage.count >= Self.size }

    /// Where a field begins.
    @inline(__always) static func offset<Field>(of field: KeyPath<Layout, Field>) -> Int {
        guard let offset = MemoryLayout<Layout>.offset(of: field) else {
            preconditionFailure("only stored fields have a place in a record")
        }
        return offset
    }

    /// A number.
    @inline(__always) subscript<Number: FixedWidthInteger>(dynamicMember field: KeyPath<Layout, Number>) -> Number {
        storage.integer(Self.offset(of: field))
    }

    /// A number of 32 bits, as a count or an offset.
    @inline(__always) func clamped(_ field: KeyPath<Layout, UInt32>, atMost most: Int = .max) -> Int {
        min(Int(storage.integer(Self.offset(of: field), as: UInt32.self)), most)
    }

    /// A structure in this one.
    @inline(__always) func part<Part>(_ field: KeyPath<Layout, Part>) -> RecordView<Part> {
        RecordView<Part>(storage.slice(Self.offset(of: field), MemoryLayout<Part>.size))
    }

    /// The elements of an array of structures.
    @inline(__always) func parts<Array, Part>(
        _ field: KeyPath<Layout, Array>,
        of type: Part.Type,
        count: Int? = nil
    ) -> [RecordView<Part>] {
        let capacity = MemoryLayout<Array>.size / MemoryLayout<Part>.size
        return (0..<min(count ?? capacity, capacity)).map { index in
            RecordView<Part>(
                storage.slice(Self.offset(of: field) + index * MemoryLayout<Part>.size, MemoryLayout<Part>.size)
            )
        }
    }

    /// The elements of an array of numbers.
    @inline(__always) func numbers<Array, Number: FixedWidthInteger>(
        _ field: KeyPath<Layout, Array>,
        of type: Number.Type,
        count: Int? = nil
    ) -> [Number] {
        let capacity = MemoryLayout<Array>.size / MemoryLayout<Number>.size
        return (0..<min(count ?? capacity, capacity)).map { index in
            storage.integer(Self.offset(of: field) + index * MemoryLayout<Number>.size)
        }
    }

    /// A text that ends at a NUL or with its field.
    @inline(__always) func text<Field>(_ field: KeyPath<Layout, Field>) -> String {
        storage.text(Self.offset(of: field), MemoryLayout<Field>.size)
    }

    /// A text that ends with a zero; nil of an empty one.
    @inline(__always) func nonEmptyText<Field>(_ field: KeyPath<Layout, Field>) -> String? {
        let text = text(field)
        return text.isEmpty ? nil : text
    }

    /// Whether a text takes all of its field: the last byte is there, and is no NUL.
    @inline(__always) func isFilled<Field>(_ field: KeyPath<Layout, Field>) -> Bool {
        storage.integer(Self.offset(of: field) + MemoryLayout<Field>.size - 1, as: UInt8.self) != 0
    }

    /// NUL-terminated texts one after the other, in the first bytes of a field.
    @inline(__always) func texts<Field>(_ field: KeyPath<Layout, Field>, length: UInt32) -> [String] {
        storage.texts(Self.offset(of: field), min(Int(length), MemoryLayout<Field>.size))
    }

    /// The first bytes of a field; none where they are not all there.
    @inline(__always) func bytes<Field>(_ field: KeyPath<Layout, Field>, first length: UInt32) -> [UInt8] {
        storage.bytes(Self.offset(of: field), min(Int(length), MemoryLayout<Field>.size))
    }

    /// The last bytes of a field, likewise.
    @inline(__always) func bytes<Field>(_ field: KeyPath<Layout, Field>, last length: UInt32) -> [UInt8] {
        let count = min(Int(length), MemoryLayout<Field>.size)
        return storage.bytes(Self.offset(of: field) + MemoryLayout<Field>.size - count, count)
    }
}
