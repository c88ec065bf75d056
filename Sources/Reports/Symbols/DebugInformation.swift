internal import CElfutils

/// The DWARF debug information of a file: which compilation unit knows an address.
@safe
final class DebugInformation {
    /// More units than any program has.
    private static let mostUnits = 1 << 16

    private let handle: OpaquePointer
    /// Kept so that it is closed after the debug information, which refers to it.
    private let file: ELFFile
    /// What `dwz` took out of several files.
    private let alternate: DebugInformation?
    private let units: AddressTable<DebugUnit>

    /// Reads the headers of all units; nil when the file has no debug information.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - finder: Finds the file that this one refers to, if it does.
    init?(of file: ELFFile, finder: DebugFileFinder) {
        guard let handle = unsafe dwarf_begin_elf(file.handle, DWARF_C_READ, nil) else { return nil }
        let alternate: DebugInformation?
        switch unsafe Self.alternate(of: handle, file, finder) {
        case .none: alternate = nil
        case .found(let information): alternate = information
        case .missing:
            // The library would look for it by itself, and open whatever the file says.
            unsafe dwarf_end(handle)
            return nil
        }
        unsafe self.handle = handle
        self.file = file
        self.alternate = alternate
        self.units = unsafe AddressTable(Self.units(in: handle, from: file.lowestCode))
    }

    /// An alternate file: its units are reached from the others.
    private init?(alternate file: ELFFile) {
        guard let handle = unsafe dwarf_begin_elf(file.handle, DWARF_C_READ, nil) else { return nil }
        // No alternate file has one of its own (DWARF 5, 7.3.6).
        guard unsafe dwelf_dwarf_gnu_debugaltlink(handle, nil, nil) == 0 else {
            unsafe dwarf_end(handle)
            return nil
        }
        unsafe self.handle = handle
        self.file = file
        self.alternate = nil
        self.units = AddressTable([])
    }

    private enum Alternate {
        case none
        case found(DebugInformation)
        case missing
    }

    private static func alternate(of handle: OpaquePointer, _ file: ELFFile, _ finder: DebugFileFinder) -> Alternate {
        var name: UnsafePointer<CChar>?
        var identifier: UnsafeRawPointer?
        let count = unsafe dwelf_dwarf_gnu_debugaltlink(handle, &name, &identifier)
        guard count != 0 else { return .none }
        guard count > 0, let name = unsafe name, let identifier = unsafe identifier else { return .missing }
        let buildID = unsafe ELFFile.hexadecimal(UnsafeRawBufferPointer(start: identifier, count: count))
        let alternate = unsafe finder.alternateFile(
            buildID: buildID,
            name: String(cString: name),
            namedBy: file.path
        )
        guard let alternate, let information = DebugInformation(alternate: alternate) else { return .missing }
        unsafe dwarf_setalt(handle, information.handle)
        return .found(information)
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

    /// The unit with the narrowest claim on an address, and what it claims there.
    ///
    /// - Parameter address: The address, as linked.
    /// - Returns: Nil where no unit claims it.
    func claim(at address: UInt64) -> (unit: DebugUnit, range: Range<UInt64>)? {
        units.entries(containing: address).first.map { ($0.value, $0.start..<$0.end) }
    }

    /// What all units claim, by start.
    var claims: some Sequence<(unit: DebugUnit, range: Range<UInt64>)> {
        units.all.lazy.map { ($0.value, $0.start..<$0.end) }
    }

    /// The units with code.
    var allUnits: [DebugUnit] {
        var seen: Set<ObjectIdentifier> = []
        return units.values.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    /// The units of a file, without what the linker has discarded: that claims addresses from 0 on, below all code.
    private static func units(in handle: OpaquePointer, from lowest: UInt64) -> [AddressTable<DebugUnit>.Entry] {
        var entries: [AddressTable<DebugUnit>.Entry] = []
        var unit: OpaquePointer?
        for _ in 0..<mostUnits {
            var kind: UInt8 = 0
            var root = unsafe Dwarf_Die()
            guard unsafe dwarf_get_units(handle, unit, &unit, nil, &kind, &root, nil) == 0 else { break }
            // Units of other kinds hold no code, or refer to another file, which the library would open.
            guard Int(kind) == DW_UT_compile else { continue }
            var entry = unsafe DebugEntry(root)
            let ranges = entry.ranges(limit: 1 << 16).filter { $0.lowerBound >= lowest }
            guard !ranges.isEmpty else { continue }
            let debugUnit = DebugUnit(root: entry)
            entries += ranges.map { .init(start: $0.lowerBound, end: $0.upperBound, value: debugUnit) }
        }
        return entries
    }
}
