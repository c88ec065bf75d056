internal import CCrashCapture

/// What the process before this one hands over when its fault handler decides that it will not go on: its table of what is kept, and the
/// descriptors, in packets (async_kept.h).
package struct HandedTable {
    /// What the packet with the table says.
    package static let tableMark = mark(HF_KEPT_TABLE_MARK)
    /// What each packet with descriptors begins with: the numbers of their slots follow, as 32 bits each.
    package static let slotsMark = mark(HF_KEPT_SLOTS_MARK)

    /// What the names begin with that the host gives itself, and another process gets, too.
    package static let ownNames = "\0" + String(UnicodeScalar(UInt8(HF_KEPT_GOES_ALONG)))

    private static func mark(_ text: String) -> [UInt8] { Array(text.utf8.prefix(Int(HF_KEPT_MARK_SIZE))) }

    /// Those whose descriptors have not come.
    private var slots: [Int: (name: String, record: KeptTable.Record)]
    /// What came with its descriptor: the caller's, in the order in which it came.
    package private(set) var entries: [(name: String, entry: KeptEntry)] = []

    /// The names of what has not come: it was closed before, or the process before ended while it sent.
    package var missing: [String] { slots.values.map(\.name).sorted() }

    /// Reads the table of another process; nil if it is no table, can still be changed, or is damaged.
    ///
    /// - Parameter table: Any descriptor; it stays open.
    package init?(_ table: CInt) {
        guard hf_kept_is_table(table) != 0, hf_kept_is_frozen(table) != 0,
            let slots = KeptTable.Image(of: table)?.slots()
        else { return nil }
        self.slots = slots
    }

    /// Takes a packet with descriptors.
    ///
    /// - Parameters:
    ///   - bytes: Any bytes that begin with `slotsMark`.
    ///   - descriptors: What came with them.
    /// - Returns: The descriptors that are not in the table, which the caller closes.
    package mutating func take(_ bytes: [UInt8], _ descriptors: [CInt]) -> [CInt] {
        let size = MemoryLayout<UInt32>.size
        let numbers = bytes.dropFirst(Self.slotsMark.count)
        guard numbers.count == descriptors.count * size else { return descriptors }
        var unknown: [CInt] = []
        for (index, descriptor) in descriptors.enumerated() {
            let slot = unsafe numbers.withUnsafeBytes { bytes in
                unsafe Int(bytes.loadUnaligned(fromByteOffset: index * size, as: UInt32.self))
            }
            guard let (name, record) = slots.removeValue(forKey: slot),
                (try? FileIdentity(of: descriptor)) == record.identity
            else {
                unknown.append(descriptor)
                continue
            }
            entries.append((name, KeptEntry(descriptor: descriptor, state: record.state)))
        }
        return unknown
    }
}
