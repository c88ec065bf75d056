internal import CElfutils

/// The DWARF debug information of a file: which compilation unit knows an address.
@safe
final class DebugInformation {
    /// More units than any program has.
    private static let mostUnits = 1 << 16

    private let handle: OpaquePointer
    /// Kept so that it is closed after the debug information, which refers to it.
    private let file: ELFFile
    private let units: AddressTable<DebugUnit>

    /// Reads the headers of all units; nil when the file has no debug information.
    ///
    /// - Parameter file: The file.
    init?(of file: ELFFile) {
        guard let handle = unsafe dwarf_begin_elf(file.handle, DWARF_C_READ, nil) else { return nil }
        unsafe self.handle = handle
        self.file = file
        self.units = unsafe AddressTable(Self.units(in: handle))
    }

    deinit {
        unsafe dwarf_end(handle)
    }

    /// The units that claim an address; damaged or discarded ones may claim too much.
    ///
    /// - Parameter address: The address, as linked.
    /// - Returns: The unit with the narrowest claim first.
    func units(containing address: UInt64) -> [DebugUnit] {
        units.entries(containing: address).map(\.value)
    }

    private static func units(in handle: OpaquePointer) -> [AddressTable<DebugUnit>.Entry] {
        var entries: [AddressTable<DebugUnit>.Entry] = []
        var unit: OpaquePointer?
        for _ in 0..<mostUnits {
            var kind: UInt8 = 0
            var root = unsafe Dwarf_Die()
            guard unsafe dwarf_get_units(handle, unit, &unit, nil, &kind, &root, nil) == 0 else { break }
            // Units of other kinds hold no code, or refer to another file, which the library would open.
            guard Int(kind) == DW_UT_compile else { continue }
            var entry = unsafe DebugEntry(root)
            let ranges = entry.ranges(limit: 1 << 16)
            guard !ranges.isEmpty else { continue }
            let debugUnit = DebugUnit(root: entry)
            entries += ranges.map { .init(start: $0.lowerBound, end: $0.upperBound, value: debugUnit) }
        }
        return entries
    }
}
