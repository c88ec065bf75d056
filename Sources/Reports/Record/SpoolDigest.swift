internal import CRecordLayout

/// A spool file without what a reader of its faults does not need: images, threads, memory, events, and slots that are free.
///
/// A process that starts again reads the file of the one before while connections wait. It has 3 MB, of which some 20 kB are in use.
enum SpoolDigest {
    /// Reads what is left of a file, in the form of a file.
    ///
    /// - Parameter read: Reads a part of the file, as much of it as is there.
    /// - Returns: The bytes, for `SpoolContents`; nil if nothing in it tells of a fault.
    static func bytes(_ read: (_ offset: Int, _ count: Int) -> [UInt8]) -> [UInt8]? {
        var bytes = read(0, RecordView<HFSpoolHeader>.size)
        guard let header = try? SpoolContents.header(RecordBytes(bytes[...])), header.fault_count > 0 else {
            return nil
        }
        let (size, count) = (Int(header.slot_size), min(Int(header.slot_count), SpoolContents.maximumEntries))
        guard size >= RecordView<HFRecord>.size, size <= SpoolContents.maximumEntrySize else { return nil }
        let context = read(Int(header.context_offset), RecordView<HFContextArea>.size)
        var taken: UInt32 = 0
        let slotOffset = bytes.count
        for offset in (0..<count).map({ Int(header.slot_offset) + $0 * size }) where taken < header.fault_count {
            // The state, which is zero while the slot is free.
            guard read(offset, MemoryLayout<UInt32>.size).contains(where: { $0 != 0 }) else { continue }
            let slot = read(offset, size)
            guard slot.count == size else { continue }
            bytes += slot
            taken += 1
        }
        guard taken > 0 else { return nil }
        let hasContext = header.context_offset > 0 && context.count == RecordView<HFContextArea>.size
        set(\.slot_offset, UInt32(slotOffset), in: &bytes)
        set(\.slot_count, taken, in: &bytes)
        set(\.context_offset, UInt32(hasContext ? bytes.count : 0), in: &bytes)
        set(\.context_size, UInt32(hasContext ? context.count : 0), in: &bytes)
        set(\.image_count, 0, in: &bytes)
        set(\.snapshot_count, 0, in: &bytes)
        set(\.memory_count, 0, in: &bytes)
        return hasContext ? bytes + context : bytes
    }

    @inline(__always)
    private static func set(_ field: KeyPath<HFSpoolHeader, UInt32>, _ value: UInt32, in bytes: inout [UInt8]) {
        let offset = RecordView<HFSpoolHeader>.offset(of: field)
        unsafe bytes.withUnsafeMutableBytes { unsafe $0.storeBytes(of: value, toByteOffset: offset, as: UInt32.self) }
    }
}
