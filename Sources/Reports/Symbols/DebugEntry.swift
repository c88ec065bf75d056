internal import CElfutils

/// One entry of the debug information, such as a function, an inlined call, a block or a type.
///
/// Valid as long as the debug information that it comes from is open.
@safe
struct DebugEntry {
    private var die: Dwarf_Die

    init(_ die: Dwarf_Die) {
        unsafe self.die = die
    }

    /// The tag, or 0 for a damaged entry.
    var tag: CInt {
        mutating get { unsafe libdw.pointee.dwarf_tag(&die) }
    }

    /// The first entry inside this one.
    mutating func firstChild() -> DebugEntry? {
        var child = unsafe Dwarf_Die()
        return unsafe libdw.pointee.dwarf_child(&die, &child) == 0 ? DebugEntry(child) : nil
    }

    /// The entry that follows this one inside the same parent.
    mutating func nextSibling() -> DebugEntry? {
        var sibling = unsafe Dwarf_Die()
        return unsafe libdw.pointee.dwarf_siblingof(&die, &sibling) == 0 ? DebugEntry(sibling) : nil
    }

    /// Whether the entry's code contains an address.
    mutating func contains(_ address: UInt64) -> Bool {
        unsafe libdw.pointee.dwarf_haspc(&die, address) == 1
    }

    /// The address ranges of the entry's code, at most so many.
    mutating func ranges(limit: Int) -> [Range<UInt64>] {
        var found: [Range<UInt64>] = []
        var (offset, base, start, end) = (0, UInt64(0), UInt64(0), UInt64(0))
        while found.count < limit {
            offset = unsafe libdw.pointee.dwarf_ranges(&die, offset, &base, &start, &end)
            guard offset > 0 else { break }
            if start < end {
                found.append(start..<end)
            }
        }
        return found
    }

    /// The function's name for linkers, or its plain name, where it or the declaration that it came from has one.
    mutating func functionName() -> String? {
        text(DW_AT_linkage_name) ?? text(DW_AT_MIPS_linkage_name) ?? text(DW_AT_name)
    }

    /// Where an inlined function was called, read from its entry.
    mutating func callSite(files: SourceFiles) -> SourceLocation {
        let file = number(DW_AT_call_file).flatMap { files.path(at: $0) }
        return SourceLocation(file: file, line: number(DW_AT_call_line) ?? 0, column: number(DW_AT_call_column) ?? 0)
    }

    /// Where the entry lies of which this one is a concrete copy, such as an inlined call of its function.
    enum Origin {
        /// In the same unit, or there is none.
        case here
        /// In another unit.
        case elsewhere(DebugEntry)
        /// It cannot be read.
        case unreadable
    }

    /// The entry that this one is a copy of.
    mutating func origin() -> Origin {
        var attribute = unsafe Dwarf_Attribute()
        guard unsafe libdw.pointee.dwarf_attr(&die, UInt32(DW_AT_abstract_origin), &attribute) != nil else {
            return .here
        }
        guard Self.pointsElsewhere(form: unsafe attribute.form) else { return .here }
        var origin = unsafe Dwarf_Die()
        return unsafe libdw.pointee.dwarf_formref_die(&attribute, &origin) != nil
            ? .elsewhere(DebugEntry(origin)) : .unreadable
    }

    /// Whether the unit with this entry at its root may have inlined calls of other units' functions, by the kinds of its entries.
    mutating func mayInlineFromElsewhere() -> Bool {
        var offset: Dwarf_Off = 0
        while true {
            var length = 0
            // Of a damaged table the entries tell.
            guard let abbreviation = unsafe libdw.pointee.dwarf_getabbrev(&die, offset, &length) else { return true }
            // `DWARF_END_ABBREV`.
            if Int(bitPattern: abbreviation) == -1 { return false }
            offset += Dwarf_Off(length)
            guard unsafe libdw.pointee.dwarf_getabbrevtag(abbreviation) == UInt32(DW_TAG_inlined_subroutine) else {
                continue
            }
            var (index, name, form) = (0, UInt32(0), UInt32(0))
            while unsafe libdw.pointee.dwarf_getabbrevattr(abbreviation, index, &name, &form, nil) == 0 {
                if name == UInt32(DW_AT_abstract_origin), Self.pointsElsewhere(form: form) { return true }
                index += 1
            }
        }
    }

    /// Whether a reference of this form may lead out of its unit (DWARF 5, 7.5.5, "reference").
    private static func pointsElsewhere(form: UInt32) -> Bool {
        switch Int(form) {
        case DW_FORM_ref1, DW_FORM_ref2, DW_FORM_ref4, DW_FORM_ref8, DW_FORM_ref_udata: false
        default: true
        }
    }

    /// The entry at the root of the unit that this one is in.
    mutating func unitRoot() -> DebugEntry? {
        var root = unsafe Dwarf_Die()
        return unsafe libdw.pointee.dwarf_diecu(&die, &root, nil, nil) != nil ? DebugEntry(root) : nil
    }

    /// The path of the file that declares the entry.
    mutating func declarationFile() -> String? {
        unsafe libdw.pointee.dwarf_decl_file(&die).map { unsafe String(cString: $0) }
    }

    /// The table of source files of the unit that has this entry at its root.
    mutating func sourceFiles() -> SourceFiles {
        var files: OpaquePointer?
        var count = 0
        let status = unsafe libdw.pointee.dwarf_getsrcfiles(&die, &files, &count)
        return unsafe SourceFiles(files: status == 0 ? files : nil, count: status == 0 ? count : 0)
    }

    /// The line table of the unit that has this entry at its root.
    mutating func lineTable() -> LineTable {
        var lines: OpaquePointer?
        var count = 0
        let status = unsafe libdw.pointee.dwarf_getsrclines(&die, &lines, &count)
        return unsafe LineTable(lines: status == 0 ? lines : nil, count: status == 0 ? count : 0)
    }

    /// Where in the debug information the entry is: the same for the same entry.
    var offset: UInt64 {
        mutating get { unsafe libdw.pointee.dwarf_dieoffset(&die) }
    }

    /// An attribute that is a text: of a unit at its root `DW_AT_name` is the path of its source file, and `DW_AT_comp_dir` where it was
    /// compiled.
    mutating func text(_ name: Int) -> String? {
        var attribute = unsafe Dwarf_Attribute()
        guard unsafe libdw.pointee.dwarf_attr_integrate(&die, UInt32(name), &attribute) != nil else { return nil }
        return unsafe libdw.pointee.dwarf_formstring(&attribute).map { unsafe String(cString: $0) }
    }

    /// An attribute that is a number.
    mutating func number(_ name: Int) -> Int? {
        var attribute = unsafe Dwarf_Attribute()
        var value: Dwarf_Word = 0
        guard unsafe libdw.pointee.dwarf_attr(&die, UInt32(name), &attribute) != nil,
            unsafe libdw.pointee.dwarf_formudata(&attribute, &value) == 0
        else { return nil }
        return Int(exactly: value)
    }
}

/// The numbered source files of one unit.
@safe
struct SourceFiles {
    fileprivate let files: OpaquePointer?
    fileprivate let count: Int

    func path(at index: Int) -> String? {
        guard let files = unsafe files, index >= 0, index < count else { return nil }
        return unsafe libdw.pointee.dwarf_filesrc(files, index, nil, nil).map { unsafe String(cString: $0) }
    }
}
