package import Glibc
internal import LinuxSystem

/// An open ELF file of this machine's kind (elf(5)), read into memory piece by piece and never mapped.
///
/// A mapped file that somebody truncates kills the reader with SIGBUS; a read one only gives an error. Without libelf: the crash thread
/// reads such files, and may not load a library.
package final class ELFFile {
    /// A section, by its name.
    package struct Section {
        package var name: String
        package var header: Elf64_Shdr
    }

    /// The sections, in the order of their headers.
    package let sections: [Section]

    /// The address of the first loadable segment's first page, as linked.
    package let linkedBase: UInt64

    /// The build id in hexadecimal.
    package let buildID: String?

    /// The path that it was opened by.
    package let path: String

    /// The segment that each thread has a copy of, if there is one.
    let threadStorage: Elf64_Phdr?

    private let file: OpenedFile
    /// What is mapped and executable.
    private let segments: [Elf64_Phdr]

    /// Opens a file; nil when that fails or it is not an x86-64 ELF file with a loadable segment.
    ///
    /// - Parameters:
    ///   - path: The file; anything but a regular one is refused without blocking.
    ///   - isLoadable: Whether it must have such a segment: what `dwz` takes out of other files has none.
    convenience init?(path: String, isLoadable: Bool = true) {
        guard let file = try? OpenedFile(path: path) else { return nil }
        self.init(file, path: path, isLoadable: isLoadable)
    }

    /// Reads a file that is open; nil when it is not an x86-64 ELF file with a loadable segment, or cannot be read.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - path: Its path.
    ///   - isLoadable: Whether it must have such a segment.
    package init?(_ file: OpenedFile, path: String, isLoadable: Bool = true) {
        guard let header = file.bytes(at: 0, count: MemoryLayout<Elf64_Ehdr>.size).value(Elf64_Ehdr.self, at: 0),
            Self.isNative(header),
            let sections = Self.sections(of: file, header)
        else { return nil }
        let size = MemoryLayout<Elf64_Phdr>.size
        let programHeaders = file.bytes(at: header.e_phoff, count: min(Int(header.e_phnum), 512) * size)
            .values(Elf64_Phdr.self)
        let base = programHeaders.first { $0.p_type == UInt32(PT_LOAD) }.map { $0.p_vaddr & ~4095 }
        guard let linkedBase = base ?? (isLoadable ? nil : 0) else { return nil }
        self.file = file
        self.path = path
        self.linkedBase = linkedBase
        self.sections = sections
        buildID = Self.buildID(of: file, sections, programHeaders)
        threadStorage = programHeaders.first { $0.p_type == UInt32(PT_TLS) }
        segments = programHeaders.filter { $0.p_type == UInt32(PT_LOAD) && $0.p_flags & UInt32(PF_X) != 0 }
    }

    /// Whether the file is still the one that was opened, so that what is read of it is its own.
    package var isIntact: Bool { file.isIntact }

    /// Which file it is, its size, and when it was changed; nil where that cannot be told.
    var identity: String? { file.identity }

    /// For libdw, which reads by it; open as long as this object.
    var descriptor: CInt { file.descriptor }

    // MARK: What there is

    /// Whether it has the code, rather than being a separate debug file: that has headers of code, but no code.
    var hasCode: Bool { hasContents { $0.header.sh_flags & UInt64(SHF_EXECINSTR) != 0 } }

    /// Whether it has debug information.
    private(set) lazy var hasDebugInformation = hasContents { $0.name == ".debug_info" || $0.name == ".zdebug_info" }

    /// Whether it has a static symbol table.
    package private(set) lazy var hasSymbols = hasContents { $0.header.sh_type == UInt32(SHT_SYMTAB) }

    private func hasContents(_ isWanted: (Section) -> Bool) -> Bool {
        sections.contains { $0.header.sh_type != UInt32(SHT_NOBITS) && isWanted($0) }
    }

    /// Where its code begins, as linked; 0 in a file without section headers.
    var lowestCode: UInt64 {
        sections.map(\.header).filter { $0.sh_flags & UInt64(SHF_EXECINSTR) != 0 && $0.sh_addr > 0 }
            .map(\.sh_addr).min() ?? 0
    }

    /// Bytes of memory that the debug information needs, decompressed.
    func debugInformationBytes() -> UInt64 {
        var total: UInt64 = 0
        for section in sections where section.name.hasPrefix(".debug_") || section.name.hasPrefix(".zdebug_") {
            let isCompressed = section.header.sh_flags & UInt64(SHF_COMPRESSED) != 0
            let head = isCompressed ? bytes(at: section.header.sh_offset, count: MemoryLayout<Elf64_Chdr>.size) : []
            let bytes =
                head.value(Elf64_Chdr.self, at: 0)?.ch_size ?? decompressedSize(of: section) ?? section.header.sh_size
            total = total.addingReportingOverflow(bytes).overflow ? .max : total + bytes
        }
        return total
    }

    /// The size of a section in GNU's older form, `ZLIB` and eight bytes, the highest first; nil in any other.
    private func decompressedSize(of section: Section) -> UInt64? {
        guard section.name.hasPrefix(".zdebug_") else { return nil }
        let head = bytes(at: section.header.sh_offset, count: 12)
        guard head.count == 12, head.starts(with: "ZLIB".utf8) else { return nil }
        return head.dropFirst(4).reduce(0) { $0 << 8 | UInt64($1) }
    }

    // MARK: Contents

    /// Reads a part of the file; empty where there is none.
    package func bytes(at offset: UInt64, count: Int) -> [UInt8] {
        file.bytes(at: offset, count: count)
    }

    /// Reads what is mapped at an address; empty where the file has nothing for it.
    ///
    /// - Parameters:
    ///   - address: The address, as linked.
    ///   - count: How many bytes.
    /// - Returns: The bytes, at most so many.
    package func code(at address: UInt64, count: Int) -> [UInt8] {
        for header in segments where header.p_vaddr <= address && address &- header.p_vaddr < header.p_filesz {
            return bytes(at: header.p_offset &+ (address &- header.p_vaddr), count: count)
        }
        return []
    }

    /// Reads a section; empty where it has nothing in the file, or not all of it is there.
    package func contents(of section: Section) -> [UInt8] {
        file.contents(of: section.header)
    }

    /// Reads the section that another one refers to, such as the names of symbols.
    package func contents(linkedFrom section: Section) -> [UInt8] {
        linked(from: section).map(contents(of:)) ?? []
    }

    /// The section that another one refers to.
    package func linked(from section: Section) -> Section? {
        let place = Int(section.header.sh_link)
        return sections.indices.contains(place) ? sections[place] : nil
    }

    /// More symbols than any program has; the rest of a larger table is not read.
    private static let mostSymbols = 4 << 20

    /// Calls a function with each symbol that covers a place in the file, of the static symbol table, or of the dynamic one if the file
    /// has been stripped.
    ///
    /// One without a size covers nothing: to name an address after it would be a guess.
    ///
    /// - Parameter body: Gets the symbol, its type (elf(5), `STT_…`), and where it ends.
    /// - Returns: Their names; none in a file without symbols.
    package func forEachSymbol(_ body: (_ symbol: Elf64_Sym, _ type: CInt, _ end: UInt64) -> Void) -> ELFNames {
        symbols.table.forEach(Elf64_Sym.self, atMost: Self.mostSymbols) { symbol in
            let (end, overflow) = symbol.st_value.addingReportingOverflow(symbol.st_size)
            guard symbol.st_shndx != UInt16(SHN_UNDEF), symbol.st_size > 0, !overflow else { return }
            body(symbol, CInt(symbol.st_info & 0xf), end)
        }
        return ELFNames(symbols.names)
    }

    /// The symbols and their names, read once: a large program has tens of megabytes of them, and is asked about more than one thing.
    private var symbols: (table: [UInt8], names: [UInt8]) {
        if let readSymbols { return readSymbols }
        let symbols = readSymbolTable()
        readSymbols = symbols
        return symbols
    }

    /// Whether the symbols and their names can be read in full.
    package var readsSymbols: Bool { !symbols.table.isEmpty && !symbols.names.isEmpty }

    private var readSymbols: (table: [UInt8], names: [UInt8])?

    /// Frees what was read of them, for a file that is kept for something else.
    package func forgetSymbols() { readSymbols = nil }

    private func readSymbolTable() -> (table: [UInt8], names: [UInt8]) {
        let tables = [SHT_SYMTAB, SHT_DYNSYM].lazy.map { type in
            self.sections.first { $0.header.sh_type == UInt32(type) }
        }
        guard let table = tables.compactMap(\.self).first else { return ([], []) }
        return (contents(of: table), contents(linkedFrom: table))
    }

    // MARK: The debug file's name

    /// The name of a separate debug file, and the CRC-32 of its bytes.
    struct DebugLink {
        var name: String
        var checksum: UInt32
    }

    /// What the section `.gnu_debuglink` says; nil without one, and when it names anything but a file.
    var debugLink: DebugLink? {
        guard let section = sections.first(where: { $0.name == ".gnu_debuglink" }) else { return nil }
        let bytes = contents(of: section)
        let name = ELFNames(bytes)[0]
        // Behind the name and its NUL, at a multiple of four.
        guard let checksum = bytes.value(UInt32.self, at: (name.utf8.count + 4) & ~3),
            !name.isEmpty, !name.contains("/"), name != ".", name != ".."
        else { return nil }
        return DebugLink(name: name, checksum: checksum)
    }

    /// The CRC-32 of the file's bytes, as `.gnu_debuglink` has it; nil when they cannot be read or are too many.
    func checksum() -> UInt32? {
        guard let size = file.size, size <= Self.mostChecksummedBytes else { return nil }
        var checksum = UInt32.max
        var offset: UInt64 = 0
        while offset < size {
            let chunk = bytes(at: offset, count: 1 << 20)
            guard !chunk.isEmpty else { return nil }
            for byte in chunk {
                checksum = Self.checksums[Int((checksum ^ UInt32(byte)) & 0xff)] ^ checksum >> 8
            }
            offset += UInt64(chunk.count)
        }
        return ~checksum
    }

    /// Larger files need a build id.
    private static let mostChecksummedBytes: UInt64 = 1 << 30

    /// The remainders of the polynomial that zlib and gdb use (gdb manual, "Debugging Information in Separate Files").
    private static let checksums: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xedb8_8320 }
    }

    // MARK: Headers

    private static func isNative(_ header: Elf64_Ehdr) -> Bool {
        let identity = header.e_ident
        return (identity.0, identity.1, identity.2, identity.3) == (0x7f, 0x45, 0x4c, 0x46)
            && identity.4 == UInt8(ELFCLASS64) && identity.5 == UInt8(ELFDATA2LSB)
            && header.e_machine == UInt16(EM_X86_64)
    }

    /// Nil where not all headers are there: the file was cut short.
    private static func sections(of file: OpenedFile, _ header: Elf64_Ehdr) -> [Section]? {
        guard header.e_shoff > 0 else { return [] }
        let size = MemoryLayout<Elf64_Shdr>.size
        // What does not fit in the file's header is in the first section's.
        guard let first = file.bytes(at: header.e_shoff, count: size).value(Elf64_Shdr.self, at: 0) else { return nil }
        let count = header.e_shnum > 0 ? UInt64(header.e_shnum) : first.sh_size
        guard count <= 1 << 20 else { return nil }
        let headers = file.bytes(at: header.e_shoff, count: Int(count) * size).values(Elf64_Shdr.self)
        guard headers.count == Int(count) else { return nil }
        let place = header.e_shstrndx == UInt16(SHN_XINDEX) ? Int(first.sh_link) : Int(header.e_shstrndx)
        let names = ELFNames(headers.indices.contains(place) ? file.contents(of: headers[place]) : [])
        // All may have one name, as long as the table: it would be kept for each.
        return headers.map { Section(name: names.text(at: Int($0.sh_name), atMost: 64), header: $0) }
    }

    /// Looks through the sections; in a file without any through the segments, whose offsets are wrong in a debug file.
    private static func buildID(of file: OpenedFile, _ sections: [Section], _ segments: [Elf64_Phdr]) -> String? {
        let notes =
            sections.isEmpty
            ? segments.filter { $0.p_type == UInt32(PT_NOTE) }.map { ($0.p_offset, $0.p_filesz, $0.p_align) }
            : sections.map(\.header).filter { $0.sh_type == UInt32(SHT_NOTE) }
                .map { ($0.sh_offset, $0.sh_size, $0.sh_addralign) }
        for (offset, size, alignment) in notes where size <= 1 << 20 {
            let bytes = file.bytes(at: offset, count: Int(size))
            let mask = alignment == 8 ? 7 : 3
            var start = 0
            while let note = bytes.value(Elf64_Nhdr.self, at: start) {
                let name = start + MemoryLayout<Elf64_Nhdr>.size
                let description = (name + Int(note.n_namesz) + mask) & ~mask
                let end = description + Int(note.n_descsz)
                guard end <= bytes.count else { break }
                if note.n_type == UInt32(NT_GNU_BUILD_ID), ELFNames(bytes)[name] == "GNU", description < end {
                    return HexDigits.text(Array(bytes[description..<end]))
                }
                start = (end + mask) & ~mask
            }
        }
        return nil
    }
}

/// A section of texts that others refer to by their offsets.
package struct ELFNames {
    private let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The text at an offset; "" where there is none, or one of more than 64 KiB.
    package subscript(offset: Int) -> String { text(at: offset, atMost: 1 << 16) }

    /// The text at an offset; "" where there is none, or a longer one.
    func text(at offset: Int, atMost limit: Int) -> String {
        // By C: a table has a hundred thousand names, and a debug build asks for each of them.
        unsafe bytes.withUnsafeBytes { bytes in
            guard offset >= 0, offset < bytes.count, let start = unsafe bytes.baseAddress.map({ unsafe $0 + offset }),
                let end = unsafe memchr(start, 0, min(limit, bytes.count - offset))
            else { return "" }
            return unsafe String(
                decoding: UnsafeRawBufferPointer(start: start, count: UnsafeRawPointer(end) - start),
                as: UTF8.self
            )
        }
    }

    /// Whether one of some beginnings is there.
    ///
    /// Static texts: a `String` would be copied for each of a hundred thousand names.
    package func begins(at offset: Int, withOneOf beginnings: [StaticString]) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            guard offset >= 0, offset < bytes.count, let start = bytes.baseAddress else { return false }
            return beginnings.contains { beginning in
                let count = beginning.utf8CodeUnitCount
                return unsafe count <= bytes.count - offset && memcmp(start + offset, beginning.utf8Start, count) == 0
            }
        }
    }
}

extension [UInt8] {
    /// Reads a value of C's; nil where not all of it is there.
    package func value<Value: BitwiseCopyable>(_ type: Value.Type, at offset: Int) -> Value? {
        guard offset >= 0, offset <= count - MemoryLayout<Value>.size else { return nil }
        return unsafe withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: type) }
    }

    /// Calls a function with the values of an array of C's.
    package func forEach<Value: BitwiseCopyable>(
        _ type: Value.Type,
        atMost most: Int = .max,
        _ body: (Value) -> Void
    ) {
        unsafe withUnsafeBytes { bytes in
            for index in 0..<Swift.min(bytes.count / MemoryLayout<Value>.size, most) {
                body(unsafe bytes.loadUnaligned(fromByteOffset: index * MemoryLayout<Value>.size, as: type))
            }
        }
    }

    /// Reads an array of C's.
    package func values<Value: BitwiseCopyable>(_ type: Value.Type) -> [Value] {
        var values: [Value] = []
        forEach(type) { values.append($0) }
        return values
    }
}

extension OpenedFile {
    /// How many bytes the file has.
    fileprivate var size: UInt64? {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? UInt64(clamping: status.st_size) : nil
    }

    /// Larger sections are not read as a whole.
    private static let mostBytes: UInt64 = 1 << 30

    /// Reads a part of the file; empty where there is none.
    fileprivate func bytes(at offset: UInt64, count: Int) -> [UInt8] {
        guard offset < UInt64(Int64.max), count > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let got = unsafe pread(descriptor, buffer.baseAddress, count, off_t(offset))
            initialized = max(0, got)
        }
    }

    /// Reads a section; empty where it has nothing in the file, or not all of it is there.
    fileprivate func contents(of header: Elf64_Shdr) -> [UInt8] {
        // The size first: memory is taken for no more than there is.
        guard header.sh_type != UInt32(SHT_NOBITS), header.sh_size <= Self.mostBytes, let size,
            header.sh_offset <= size, header.sh_size <= size - header.sh_offset
        else { return [] }
        let bytes = bytes(at: header.sh_offset, count: Int(header.sh_size))
        return bytes.count == Int(header.sh_size) ? bytes : []
    }
}
