package import CElfutils
internal import Glibc

/// An open ELF file of this machine's kind, read into memory piece by piece and never mapped.
///
/// A mapped file that somebody truncates kills the reader with SIGBUS; a read one only gives an error.
@safe
package final class ELFFile {
    /// The library's handle, alive as long as this object.
    package let handle: OpaquePointer

    /// The address of the first loadable segment's first page, as linked.
    package let linkedBase: UInt64

    /// The build id in hexadecimal.
    package let buildID: String?

    /// The path that it was opened by.
    package let path: String

    /// Whether it has the code, rather than being a separate debug file.
    let hasCode: Bool

    /// The segment that each thread has a copy of, if there is one.
    let threadStorage: GElf_Phdr?

    /// Whether it has debug information.
    let hasDebugInformation: Bool

    /// Whether it has a static symbol table.
    let hasSymbols: Bool

    private let file: OpenedFile
    private var descriptor: CInt { file.descriptor }
    /// What is mapped and executable.
    private let segments: [GElf_Phdr]

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
        _ = elf_version(UInt32(EV_CURRENT))
        guard let handle = unsafe elf_begin(file.descriptor, ELF_C_READ, nil) else { return nil }
        let base = unsafe Self.linkedBase(of: handle)
        guard unsafe Self.isNative(handle), let linkedBase = base ?? (isLoadable ? nil : 0) else {
            unsafe elf_end(handle)
            return nil
        }
        self.file = file
        self.path = path
        unsafe self.handle = handle
        self.linkedBase = linkedBase
        self.buildID = unsafe Self.buildID(of: handle)
        let headers = unsafe Self.programHeaders(of: handle)
        threadStorage = headers.first { $0.p_type == UInt32(PT_TLS) }
        segments = headers.filter { $0.p_type == UInt32(PT_LOAD) && $0.p_flags & UInt32(PF_X) != 0 }
        (hasCode, hasDebugInformation, hasSymbols) = unsafe Self.contents(of: handle)
    }

    deinit {
        unsafe elf_end(handle)
    }

    /// Whether the file is still the one that was opened, so that what is read of it is its own.
    package var isIntact: Bool { file.isIntact }

    /// Calls a function with each section and its header.
    ///
    /// - Parameter body: Gets the section, its header and its name.
    package func forEachSection(_ body: (OpaquePointer, GElf_Shdr, String) -> Void) {
        unsafe Self.forEachSection(of: handle, body)
    }

    private static func forEachSection(of handle: OpaquePointer, _ body: (OpaquePointer, GElf_Shdr, String) -> Void) {
        var names = 0
        guard unsafe elf_getshdrstrndx(handle, &names) == 0 else { return }
        var section = unsafe elf_nextscn(handle, nil)
        while let current = unsafe section {
            var header = GElf_Shdr()
            if unsafe gelf_getshdr(current, &header) != nil {
                let name = unsafe elf_strptr(handle, names, Int(header.sh_name)).map { unsafe String(cString: $0) }
                unsafe body(current, header, name ?? "")
            }
            unsafe section = elf_nextscn(handle, current)
        }
    }

    /// Where its code begins, as linked; 0 in a file without section headers.
    package var lowestCode: UInt64 {
        var lowest = UInt64.max
        unsafe forEachSection { _, header, _ in
            if header.sh_flags & UInt64(SHF_EXECINSTR) != 0, header.sh_addr > 0 { lowest = min(lowest, header.sh_addr) }
        }
        return lowest == .max ? 0 : lowest
    }

    /// How many bytes the file has.
    var size: UInt64? {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? UInt64(clamping: status.st_size) : nil
    }

    /// Reads a part of the file; empty where there is none.
    package func bytes(at offset: UInt64, count: Int) -> [UInt8] {
        guard offset < UInt64(Int64.max), count > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let got = unsafe pread(descriptor, buffer.baseAddress, count, off_t(offset))
            initialized = max(0, got)
        }
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

    /// Bytes of memory that the debug information needs, decompressed.
    func debugInformationBytes() -> UInt64 {
        var total: UInt64 = 0
        unsafe forEachSection { section, header, name in
            guard name.hasPrefix(".debug_") || name.hasPrefix(".zdebug_") else { return }
            var compressed = GElf_Chdr()
            let isCompressed = header.sh_flags & UInt64(SHF_COMPRESSED) != 0
            let known = unsafe isCompressed && gelf_getchdr(section, &compressed) != nil
            let bytes = known ? compressed.ch_size : header.sh_size
            total = total.addingReportingOverflow(bytes).overflow ? .max : total + bytes
        }
        return total
    }
}

extension ELFFile {
    private static func isNative(_ handle: OpaquePointer) -> Bool {
        var header = GElf_Ehdr()
        guard unsafe elf_kind(handle) == ELF_K_ELF, unsafe gelf_getehdr(handle, &header) != nil else { return false }
        return unsafe gelf_getclass(handle) == ELFCLASS64 && header.e_machine == UInt16(EM_X86_64)
    }

    private static func programHeaders(of handle: OpaquePointer) -> [GElf_Phdr] {
        var count = 0
        guard unsafe elf_getphdrnum(handle, &count) == 0 else { return [] }
        return (0..<min(count, 512)).compactMap { index in
            var header = GElf_Phdr()
            return unsafe gelf_getphdr(handle, CInt(index), &header) == nil ? nil : header
        }
    }

    private static func linkedBase(of handle: OpaquePointer) -> UInt64? {
        let loadable = unsafe programHeaders(of: handle).first { $0.p_type == UInt32(PT_LOAD) }
        return loadable.map { $0.p_vaddr & ~4095 }
    }

    private static func buildID(of handle: OpaquePointer) -> String? {
        var bytes: UnsafeRawPointer?
        let count = unsafe dwelf_elf_gnu_build_id(handle, &bytes)
        guard count > 0, let bytes = unsafe bytes else { return nil }
        return unsafe hexadecimal(UnsafeRawBufferPointer(start: bytes, count: count))
    }

    /// What there is, by the headers of the sections: a debug file has headers of code, but no code.
    private static func contents(of handle: OpaquePointer) -> (code: Bool, debugInformation: Bool, symbols: Bool) {
        var (code, debugInformation, symbols) = (false, false, false)
        unsafe forEachSection(of: handle) { _, header, name in
            guard header.sh_type != UInt32(SHT_NOBITS) else { return }
            if header.sh_flags & UInt64(SHF_EXECINSTR) != 0 { code = true }
            if name == ".debug_info" || name == ".zdebug_info" { debugInformation = true }
            if header.sh_type == UInt32(SHT_SYMTAB) { symbols = true }
        }
        return (code, debugInformation, symbols)
    }

    static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
