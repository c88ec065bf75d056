internal import CElfutils
internal import LinuxSystem
internal import Synchronization

/// libdw, which few processes need: a host loads it where its program has debug information, others when they read some.
///
/// Not by the crash thread, nor for it while a verdict waits: the dynamic linker allocates, and takes locks.
package enum DebugLibrary {
    private static let wasTried = Atomic<Bool>(false)
    private static nonisolated(unsafe) var foundProblem: String?

    /// The functions, once for all; nil where they are not there.
    fileprivate static nonisolated(unsafe) let functions: UnsafePointer<HFLibdw>? = {
        var problem: UnsafePointer<CChar>?
        let functions = unsafe hf_libdw_load(&problem)
        if unsafe functions == nil { unsafe foundProblem = problem.map { unsafe String(cString: $0) } ?? "libdw.so.1" }
        wasTried.store(true, ordering: .releasing)
        return unsafe functions
    }()

    /// Loads it unless that was tried before.
    ///
    /// - Returns: Whether it is there.
    @discardableResult
    package static func load() -> Bool { unsafe functions != nil }

    /// Whether it was tried to load it, so that to ask for it loads nothing.
    static var isSettled: Bool { wasTried.load(ordering: .acquiring) }

    /// Why it could not be loaded, in the words of the dynamic linker; nil as long as nobody needed it, or where it is there.
    package static var problem: String? { isSettled ? unsafe foundProblem : nil }
}

/// For who has debug information open, so that the library is there.
var libdw: UnsafePointer<HFLibdw> { unsafe DebugLibrary.functions.unsafelyUnwrapped }

/// The DWARF debug information of a file: which compilation unit knows an address.
@safe
final class DebugInformation {
    /// More units than any program has.
    private static let mostUnits = 1 << 16

    private let handle: OpaquePointer
    private let elf: OpaquePointer
    /// Kept so that its descriptor is closed after the debug information, which reads by it.
    private let file: ELFFile
    /// What `dwz` took out of several files.
    private let alternate: DebugInformation?
    private let units: AddressTable<DebugUnit>
    /// Whether all headers of units could be read.
    let isWhole: Bool

    /// Reads the headers of all units; nil when the file has no debug information, or libdw is not there.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - finder: Finds the file that this one refers to, if it does.
    init?(of file: ELFFile, finder: DebugFileFinder) {
        guard let (elf, handle) = unsafe Self.open(file) else { return nil }
        let alternate: DebugInformation?
        switch unsafe Self.alternate(of: handle, file, finder) {
        case .none: alternate = nil
        case .found(let information): alternate = information
        case .missing:
            // The library would look for it by itself, and open whatever the file says.
            unsafe Self.close(elf, handle)
            return nil
        }
        unsafe self.elf = elf
        unsafe self.handle = handle
        self.file = file
        self.alternate = alternate
        let (entries, isWhole) = unsafe Self.units(in: handle, from: file.lowestCode)
        self.units = AddressTable(entries)
        self.isWhole = isWhole
    }

    /// An alternate file: its units are reached from the others.
    private init?(alternate file: ELFFile) {
        guard let (elf, handle) = unsafe Self.open(file) else { return nil }
        // No alternate file has one of its own (DWARF 5, 7.3.6).
        guard unsafe libdw.pointee.dwelf_dwarf_gnu_debugaltlink(handle, nil, nil) == 0 else {
            unsafe Self.close(elf, handle)
            return nil
        }
        unsafe self.elf = elf
        unsafe self.handle = handle
        self.file = file
        self.alternate = nil
        self.units = AddressTable([])
        isWhole = true
    }

    private static func open(_ file: ELFFile) -> (elf: OpaquePointer, handle: OpaquePointer)? {
        guard file.hasDebugInformation, DebugLibrary.load() else { return nil }
        _ = unsafe libdw.pointee.elf_version(UInt32(EV_CURRENT))
        guard let elf = unsafe libdw.pointee.elf_begin(file.descriptor, ELF_C_READ, nil) else { return nil }
        guard let handle = unsafe libdw.pointee.dwarf_begin_elf(elf, DWARF_C_READ, nil) else {
            _ = unsafe libdw.pointee.elf_end(elf)
            return nil
        }
        return unsafe (elf, handle)
    }

    private static func close(_ elf: OpaquePointer, _ handle: OpaquePointer) {
        _ = unsafe libdw.pointee.dwarf_end(handle)
        _ = unsafe libdw.pointee.elf_end(elf)
    }

    private enum Alternate {
        case none
        case found(DebugInformation)
        case missing
    }

    private static func alternate(of handle: OpaquePointer, _ file: ELFFile, _ finder: DebugFileFinder) -> Alternate {
        var name: UnsafePointer<CChar>?
        var identifier: UnsafeRawPointer?
        let count = unsafe libdw.pointee.dwelf_dwarf_gnu_debugaltlink(handle, &name, &identifier)
        guard count != 0 else { return .none }
        guard count > 0, let name = unsafe name, let identifier = unsafe identifier else { return .missing }
        let buildID = unsafe HexDigits.text(Array(UnsafeRawBufferPointer(start: identifier, count: count)))
        let alternate = unsafe finder.alternateFile(
            buildID: buildID,
            name: String(cString: name),
            namedBy: file.path
        )
        guard let alternate, let information = DebugInformation(alternate: alternate) else { return .missing }
        unsafe libdw.pointee.dwarf_setalt(handle, information.handle)
        return .found(information)
    }

    deinit {
        unsafe Self.close(elf, handle)
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
    ///
    /// - Returns: What they claim, and whether the last one was the last one of the file.
    private static func units(
        in handle: OpaquePointer,
        from lowest: UInt64
    ) -> (entries: [AddressTable<DebugUnit>.Entry], isWhole: Bool) {
        var entries: [AddressTable<DebugUnit>.Entry] = []
        var unit: OpaquePointer?
        for _ in 0..<mostUnits {
            var kind: UInt8 = 0
            var root = unsafe Dwarf_Die()
            let status = unsafe libdw.pointee.dwarf_get_units(handle, unit, &unit, nil, &kind, &root, nil)
            // 1 at the end, -1 for an error.
            guard status == 0 else { return (entries, status == 1) }
            // Units of other kinds hold no code, or refer to another file, which the library would open.
            guard Int(kind) == DW_UT_compile else { continue }
            var entry = unsafe DebugEntry(root)
            let ranges = entry.ranges(limit: 1 << 16).filter { $0.lowerBound >= lowest }
            guard !ranges.isEmpty else { continue }
            let debugUnit = DebugUnit(root: entry)
            entries += ranges.map { .init(start: $0.lowerBound, end: $0.upperBound, value: debugUnit) }
        }
        return (entries, false)
    }
}
