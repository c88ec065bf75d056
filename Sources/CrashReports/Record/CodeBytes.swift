/// The code around the place of a fault.
public struct CodeBytes: Sendable, Hashable {
    /// What lies before the program counter, up to it.
    public var before: [UInt8]
    /// What lies from the program counter on; empty when it could not be read.
    public var from: [UInt8]

    init(before: [UInt8], from: [UInt8]) {
        self.before = before
        self.from = from
    }

    init(_ record: RecordBytes) {
        let length = min(Int(record.integer(324, as: UInt32.self)), 16)
        let lengthBefore = min(Int(record.integer(4684, as: UInt32.self)), 16)
        from = record.bytes(328, length)
        before = from.isEmpty ? [] : record.bytes(4688 + 16 - lengthBefore, lengthBefore)
    }
}
