internal import CElfutils
internal import Glibc

/// An open ELF file of this machine's kind, read into memory piece by piece and never mapped.
///
/// A mapped file that somebody truncates kills the reader with SIGBUS; a read one only gives an error.
@safe
final class ELFFile {
    /// The library's handle, alive as long as this object.
    let handle: OpaquePointer

    /// The address of the first loadable segment's first page, as linked.
    let linkedBase: UInt64

    /// The build id in hexadecimal.
    let buildID: String?

    private let descriptor: CInt

    /// Opens a file; nil when that fails or it is not an x86-64 ELF file with a loadable segment.
    ///
    /// - Parameter path: The file; anything but a regular one is refused without blocking.
    init?(path: String) {
        guard let descriptor = Self.openRegularFile(path) else { return nil }
        _ = elf_version(UInt32(EV_CURRENT))
        guard let handle = unsafe elf_begin(descriptor, ELF_C_READ, nil) else {
            close(descriptor)
            return nil
        }
        guard unsafe Self.isNative(handle), let linkedBase = unsafe Self.linkedBase(of: handle) else {
            unsafe elf_end(handle)
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        unsafe self.handle = handle
        self.linkedBase = linkedBase
        self.buildID = unsafe Self.buildID(of: handle)
    }

    deinit {
        unsafe elf_end(handle)
        close(descriptor)
    }

    /// Calls a function with each section and its header.
    ///
    /// - Parameter body: Gets the section, its header and its name.
    func forEachSection(_ body: (OpaquePointer, GElf_Shdr, String) -> Void) {
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

    /// Reads a part of the file; empty where there is none.
    func bytes(at offset: UInt64, count: Int) -> [UInt8] {
        guard offset < UInt64(Int64.max), count > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let got = unsafe pread(descriptor, buffer.baseAddress, count, off_t(offset))
            initialized = max(0, got)
        }
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
    private static func openRegularFile(_ path: String) -> CInt? {
        // A path with a NUL names another file to the kernel. O_NONBLOCK: opening a FIFO would wait for a writer.
        guard !path.utf8.contains(0) else { return nil }
        let descriptor = unsafe open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

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
        for header in unsafe programHeaders(of: handle)
        where header.p_type == UInt32(PT_NOTE) && header.p_filesz < 65536 {
            let type = header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR
            guard
                let data = unsafe elf_getdata_rawchunk(
                    handle,
                    Int64(bitPattern: header.p_offset),
                    Int(header.p_filesz),
                    type
                )
            else { continue }
            if let identifier = unsafe buildID(in: data) {
                return identifier
            }
        }
        return nil
    }

    private static func buildID(in notes: UnsafeMutablePointer<Elf_Data>) -> String? {
        guard let bytes = unsafe notes.pointee.d_buf else { return nil }
        let buffer = unsafe UnsafeRawBufferPointer(start: bytes, count: notes.pointee.d_size)
        var offset = 0
        var note = GElf_Nhdr()
        var (nameOffset, descriptionOffset) = (0, 0)
        while true {
            let next = unsafe gelf_getnote(notes, offset, &note, &nameOffset, &descriptionOffset)
            guard next > offset else { return nil }
            offset = next
            let (name, description) = (Int(note.n_namesz), Int(note.n_descsz))
            guard note.n_type == UInt32(NT_GNU_BUILD_ID), name == 4, description > 0 else { continue }
            guard nameOffset + name <= buffer.count, descriptionOffset + description <= buffer.count else { return nil }
            if unsafe buffer[nameOffset..<nameOffset + name].elementsEqual("GNU\0".utf8) {
                return unsafe hexadecimal(buffer[descriptionOffset..<descriptionOffset + description])
            }
        }
    }

    private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
