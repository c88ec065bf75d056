/// The unwind table of an image in another process, `.eh_frame` behind its index `.eh_frame_hdr` (Linux Standard Base, "Exception Frames").
struct UnwindTable {
    typealias Unreadable = RemoteMemory.Unreadable

    /// What the table says of a function.
    struct Entry {
        /// Where the function begins.
        let start: UInt64
        /// What holds in all functions of its kind, and then in this one.
        let common: RemoteCursor
        let own: RemoteCursor
        let codeAlignment: UInt64
        let dataAlignment: Int64
        /// The column of the return address.
        let returnColumn: UInt64
        /// Whether it is the frame that the kernel makes for a signal: its return address is the very instruction that was interrupted.
        let isSignalFrame: Bool
        let pointerEncoding: UInt8
    }

    private let memory: RemoteMemory
    private let header: UInt64
    private let first: UInt64
    private let count: UInt64

    /// Finds the index of an image.
    ///
    /// - Parameters:
    ///   - memory: The process's.
    ///   - header: Where `.eh_frame_hdr` is.
    /// - Throws: `Unreadable`, also if it is not of the form that all linkers write: sorted, and relative to itself.
    init(_ memory: RemoteMemory, header: UInt64) throws(Unreadable) {
        var cursor = RemoteCursor(memory, at: header, length: 64)
        let version = try cursor.byte()
        let (frames, counts, entries) = (try cursor.byte(), try cursor.byte(), try cursor.byte())
        guard version == 1, counts & 0x70 == 0, entries == 0x3b else { throw Unreadable() }
        _ = try cursor.pointer(frames, data: header)
        self.memory = memory
        self.header = header
        count = try cursor.pointer(counts)
        first = cursor.place
        guard count < 1 << 24 else { throw Unreadable() }
    }

    /// The entry of the function that an address is in.
    ///
    /// - Parameter address: The address.
    /// - Returns: The entry; nil if there is none.
    /// - Throws: `Unreadable`.
    func entry(covering address: UInt64) throws(Unreadable) -> Entry? {
        let wanted = Int64(bitPattern: address &- header)
        var (low, high) = (UInt64(0), count)
        while low < high {
            let middle = (low + high) / 2
            let start = Int64(try memory.integer(at: first &+ 8 &* middle) as Int32)
            if start <= wanted { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return nil }
        let offset = Int64(try memory.integer(at: first &+ 8 &* (low - 1) &+ 4) as Int32)
        return try parse(at: header &+ UInt64(bitPattern: offset), covering: address)
    }

    private func parse(at place: UInt64, covering address: UInt64) throws(Unreadable) -> Entry? {
        let length: UInt32 = try memory.integer(at: place)
        guard length >= 8, length < 1 << 20 else { throw Unreadable() }
        var own = RemoteCursor(memory, at: place &+ 4, length: UInt64(length))
        let commonPlace = own.place &- UInt64(try own.fixed() as UInt32)

        let commonLength: UInt32 = try memory.integer(at: commonPlace)
        guard commonLength >= 8, commonLength < 1 << 20 else { throw Unreadable() }
        var common = RemoteCursor(memory, at: commonPlace &+ 4, length: UInt64(commonLength))
        guard try common.fixed() as UInt32 == 0 else { throw Unreadable() }
        let version = try common.byte()
        guard version == 1 || version == 3 else { throw Unreadable() }
        var letters: [UInt8] = []
        while true {
            let letter = try common.byte()
            if letter == 0 { break }
            guard letters.count < 8 else { throw Unreadable() }
            letters.append(letter)
        }
        let codeAlignment = try common.unsigned()
        let dataAlignment = try common.signed()
        let returnColumn = version == 1 ? UInt64(try common.byte()) : try common.unsigned()
        var encoding: UInt8 = 0
        var isSignalFrame = false
        let hasData = letters.first == UInt8(ascii: "z")
        if hasData { _ = try common.unsigned() }
        for letter in letters.dropFirst(hasData ? 1 : 0) {
            switch letter {
            case UInt8(ascii: "R"): encoding = try common.byte()
            case UInt8(ascii: "P"):
                let personality = try common.byte()
                // Where it is does not matter, only how long the pointer is.
                _ = try common.pointer(personality & 0x0f)
            case UInt8(ascii: "L"): _ = try common.byte()
            case UInt8(ascii: "S"): isSignalFrame = true
            default: throw Unreadable()
            }
        }
        let start = try own.pointer(encoding)
        let size = try own.pointer(encoding & 0x0f)
        guard address >= start, address - start < size else { return nil }
        if hasData { try own.skip(try own.unsigned()) }
        return Entry(
            start: start,
            common: common,
            own: own,
            codeAlignment: codeAlignment,
            dataAlignment: dataAlignment,
            returnColumn: returnColumn,
            isSignalFrame: isSignalFrame,
            pointerEncoding: encoding
        )
    }
}
