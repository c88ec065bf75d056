/// A piece of the memory of a process that faulted.
public struct MemoryPiece: Sendable, Hashable {
    /// Why it was taken.
    public enum About: Sendable, Hashable {
        /// What lay above the stack pointer.
        case stack
        /// What lay around the address in a register, by its place in the record's list.
        case register(Int)
    }

    /// The address of the first byte.
    public var address: UInt64
    /// The bytes.
    public var bytes: [UInt8]
    /// Why it was taken.
    public var about: About

    /// Makes a piece.
    public init(address: UInt64, bytes: [UInt8], about: About) {
        self.address = address
        self.bytes = bytes
        self.about = about
    }

    /// The pieces of an area: as many as are whole.
    static func pieces(_ area: RecordBytes) -> [MemoryPiece] {
        let count = min(Int(area.integer(8, as: UInt32.self)), 20)
        let contents = area.slice(496, 2048)
        return (0..<count).compactMap { index in
            let offset = 16 + 24 * index
            let bytes = contents.bytes(
                Int(area.integer(offset + 8, as: UInt32.self)),
                Int(area.integer(offset + 12, as: UInt32.self))
            )
            guard !bytes.isEmpty else { return nil }
            let about = Int(area.integer(offset + 16, as: UInt32.self))
            return MemoryPiece(
                address: area.integer(offset, as: UInt64.self),
                bytes: bytes,
                about: about == 255 ? .stack : .register(about)
            )
        }
    }
}
