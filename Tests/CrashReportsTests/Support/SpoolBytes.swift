/// Bytes of a spool file, made by the offsets of Documentation/CrashRecordFormat.md rather than by the C header.
struct SpoolBytes {
    static let slotSize = 7072

    /// The process of the file.
    var pid: Int32 = 4711
    var parentPid: Int32 = 815
    /// Faults so far; as many as there are slots in use unless it is told.
    var faults: UInt32?
    var images: [(path: String, range: Range<UInt64>)] = []
    /// The slots, from first to last.
    var slots: [[UInt8]] = []
    /// The words of the limits and their check.
    var limits: [UInt64] = []

    /// The whole file, as short as it can be.
    var bytes: [UInt8] {
        let imageOffset = 3264
        let slotOffset = imageOffset + 312 * images.count
        var file = [UInt8](repeating: 0, count: slotOffset)
        file.put("HFSPOOL", at: 0)
        let numbers: [(Int, Int)] = [
            (8, 1), (12, 3264), (16, imageOffset), (20, 312), (24, images.count),
            (28, images.count), (32, slotOffset),
            (36, Self.slotSize), (40, slots.count), (44, Int(faults ?? UInt32(slots.count { $0[0] != 0 }))),
            (52, Int(pid)),
            (56, Int(parentPid)), (80, 2),
        ]
        for (offset, value) in numbers { file.put(UInt32(value), at: offset) }
        file.put(Int64(1_795_243_200_000_000_000), at: 64)
        for (index, limit) in limits.enumerated() { file.put(limit, at: 3232 + 8 * index) }
        file.put("agent", at: 96)
        file.put("/usr/bin/agent", at: 160)
        file.put("0.1.0", at: 1112)
        for (index, image) in images.enumerated() {
            let start = imageOffset + 312 * index
            file.put(image.range.lowerBound, at: start)
            file.put(image.range.upperBound, at: start + 8)
            file.put(image.path, at: start + 56)
        }
        for slot in slots { file += slot + Array(repeating: 0, count: max(0, Self.slotSize - slot.count)) }
        return file
    }

    /// A record that is decided: a write to the null page in a timer.
    static func record(number: UInt32 = 1, state: UInt32 = 3) -> [UInt8] {
        var record = [UInt8](repeating: 0, count: slotSize)
        record.put(state, at: 0)
        record.put(number, at: 4)
        record.put(Int64(1_795_243_212_123_456_789) + Int64(number) * 1_000_000_000, at: 8)
        record.put(Int64(12_000_000_000), at: 16)
        record.put(Int32(11), at: 24)
        record.put(Int32(1), at: 28)
        record.put(UInt64(0x18), at: 32)
        record.put(Int32(4711), at: 48)
        record.put(UInt32(1 | 1 << 1 | 1 << 7), at: 52)
        record.put("agent", at: 56)
        record.put(UInt32(1), at: 72)
        record.put(UInt32(3), at: 76)
        record.put(UInt32(3), at: 80)
        for register in 0..<23 { record.put(UInt64(0x1000 + register), at: 88 + 8 * register) }
        record.put(UInt64(6), at: 88 + 8 * 19)
        record.put(UInt64(14), at: 88 + 8 * 20)
        record.put(UInt64(17), at: 296)
        record.put(UInt32(3), at: 312)
        record.put(UInt32(1 << 1), at: 316)
        record.put("default", at: 344)
        record.put("retry queue", at: 408)
        record.put("a reason", at: 1784)
        for frame in 0..<3 { record.put(UInt64(0x40_1000 + frame), at: 1976 + 8 * frame) }
        record.put(Int32(4711), at: 4024)
        return record
    }
}

extension [UInt8] {
    /// Overwrites a number.
    mutating func put(_ value: some FixedWidthInteger, at offset: Int) {
        for index in 0..<(value.bitWidth / 8) { self[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index)) }
    }

    /// Overwrites a text.
    mutating func put(_ text: String, at offset: Int) {
        replaceSubrange(offset..<offset + text.utf8.count, with: text.utf8)
    }
}
