/// Memory of another process.
///
/// Hostile input, like whatever comes from there: nothing here traps on it.
final class RemoteMemory {
    /// What is missing, or makes no sense.
    struct Unreadable: Error {}

    private static let page: UInt64 = 4096
    private static let mostPages = 512

    private let readPage: (_ address: UInt64) -> [UInt8]?
    private var pages: [UInt64: [UInt8]] = [:]

    /// Makes it.
    ///
    /// - Parameter readPage: Reads the 4,096 bytes at a multiple of that; nil where there is nothing.
    init(readPage: @escaping (_ address: UInt64) -> [UInt8]?) {
        self.readPage = readPage
    }

    /// Reads again what may have changed since.
    func forget() { pages = [:] }

    /// A byte.
    func byte(at address: UInt64) throws(Unreadable) -> UInt8 {
        let start = address & ~(Self.page - 1)
        if let page = pages[start] {
            guard !page.isEmpty else { throw Unreadable() }
            return page[Int(address - start)]
        }
        let page = readPage(start) ?? []
        guard page.isEmpty || page.count == Int(Self.page) else { throw Unreadable() }
        if pages.count >= Self.mostPages { pages = [:] }
        pages[start] = page
        guard !page.isEmpty else { throw Unreadable() }
        return page[Int(address - start)]
    }

    /// An integer, its lowest byte first.
    func integer<Number: FixedWidthInteger>(
        at address: UInt64,
        as type: Number.Type = Number.self
    ) throws(Unreadable) -> Number {
        var number: Number = 0
        for index in 0..<(Number.bitWidth / 8) {
            number |=
                Number(truncatingIfNeeded: try byte(at: address &+ UInt64(index)))
                << Number(truncatingIfNeeded: 8 * index)
        }
        return number
    }
}

/// Reads one thing of memory after the other.
struct RemoteCursor {
    let memory: RemoteMemory
    /// Where the next one is.
    private(set) var place: UInt64
    private let end: UInt64

    /// Begins.
    ///
    /// - Parameters:
    ///   - memory: Whose.
    ///   - place: Where.
    ///   - length: How many bytes may be read.
    init(_ memory: RemoteMemory, at place: UInt64, length: UInt64) {
        self.memory = memory
        self.place = place
        let (end, overflows) = place.addingReportingOverflow(length)
        self.end = overflows ? .max : end
    }

    var isAtEnd: Bool { place >= end }

    mutating func byte() throws(RemoteMemory.Unreadable) -> UInt8 { try fixed() }

    mutating func fixed<Number: FixedWidthInteger>() throws(RemoteMemory.Unreadable) -> Number {
        let size = UInt64(Number.bitWidth / 8)
        guard place < end, end - place >= size else { throw RemoteMemory.Unreadable() }
        let number: Number = try memory.integer(at: place)
        place += size
        return number
    }

    /// A number of as many bytes as it needs (DWARF 4, 7.6).
    mutating func unsigned() throws(RemoteMemory.Unreadable) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            let byte = try self.byte()
            value |= UInt64(byte & 0x7f) << shift
            if byte & 0x80 == 0 { return value }
        }
        throw RemoteMemory.Unreadable()
    }

    mutating func signed() throws(RemoteMemory.Unreadable) -> Int64 {
        var value: Int64 = 0
        for shift in stride(from: Int64(0), to: 70, by: 7) {
            let byte = try self.byte()
            value |= Int64(byte & 0x7f) << shift
            guard byte & 0x80 == 0 else { continue }
            return byte & 0x40 != 0 && shift + 7 < 64 ? value | -1 << (shift + 7) : value
        }
        throw RemoteMemory.Unreadable()
    }

    mutating func skip(_ count: UInt64) throws(RemoteMemory.Unreadable) {
        guard place <= end, end - place >= count else { throw RemoteMemory.Unreadable() }
        place += count
    }

    /// A pointer as unwind tables have it (Linux Standard Base, "DWARF Exception Header Encoding").
    ///
    /// - Parameters:
    ///   - encoding: How it is written.
    ///   - data: What it may be relative to.
    /// - Returns: The pointer.
    /// - Throws: `Unreadable`.
    mutating func pointer(_ encoding: UInt8, data: UInt64 = 0) throws(RemoteMemory.Unreadable) -> UInt64 {
        let start = place
        var value: UInt64
        switch encoding & 0x0f {
        case 0x00, 0x04, 0x0c: value = try fixed()
        case 0x01: value = try unsigned()
        case 0x02: value = UInt64(try fixed() as UInt16)
        case 0x03: value = UInt64(try fixed() as UInt32)
        case 0x09: value = UInt64(bitPattern: try signed())
        case 0x0a: value = UInt64(bitPattern: Int64(try fixed() as Int16))
        case 0x0b: value = UInt64(bitPattern: Int64(try fixed() as Int32))
        default: throw RemoteMemory.Unreadable()
        }
        switch encoding & 0x70 {
        case 0x00: break
        case 0x10: value = value &+ start
        case 0x30: value = value &+ data
        default: throw RemoteMemory.Unreadable()
        }
        return encoding & 0x80 == 0 ? value : try memory.integer(at: value)
    }
}
