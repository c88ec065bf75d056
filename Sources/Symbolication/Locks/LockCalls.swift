internal import CElfutils
internal import Glibc

/// Which functions of a file call what takes the lock of a `Mutex`.
///
/// Reads the machine code, because nothing else says it in a debug build. A call to another library goes through a stub in
/// `.plt`, which jumps to where the dynamic linker put the function's address, or is made to that address itself; the
/// relocation of that place names the function (System V ABI, AMD64 supplement, "Procedure Linkage Table").
@safe
final class LockCalls {
    /// Longer functions and larger tables are taken for damage.
    private static let longestFunction: UInt64 = 4 << 20
    private static let largestTable: UInt64 = 64 << 20

    private struct Section {
        var addresses: Range<UInt64>
        var offset: UInt64
    }

    private let file: ELFFile
    private let code: [Section]
    /// The places of the functions' addresses, and the stubs that jump there.
    private let places: Set<UInt64>
    private let stubs: Set<UInt64>
    private let starts: [UInt64]

    /// Reads a file's relocations and stubs.
    init(of file: ELFFile) {
        self.file = file
        var code: [Section] = []
        var places: Set<UInt64> = []
        var tables: [Section] = []
        var functionTable: Section?
        unsafe file.forEachSection { section, header, name in
            if header.sh_type == UInt32(SHT_RELA) {
                unsafe places.formUnion(Self.places(in: section, header, of: file))
            }
            let (end, overflow) = header.sh_addr.addingReportingOverflow(header.sh_size)
            guard !overflow, header.sh_type == UInt32(SHT_PROGBITS) || name == ".eh_frame_hdr" else { return }
            let part = Section(addresses: header.sh_addr..<end, offset: header.sh_offset)
            if name == ".eh_frame_hdr", header.sh_size <= Self.largestTable { functionTable = part }
            guard header.sh_flags & UInt64(SHF_EXECINSTR) != 0 else { return }
            if name.hasPrefix(".plt") { tables.append(part) } else { code.append(part) }
        }
        self.code = code
        self.places = places
        guard !places.isEmpty else {
            stubs = []
            starts = []
            return
        }
        var stubs: Set<UInt64> = []
        for table in tables {
            stubs.formUnion(Self.stubs(in: Self.bytes(table.addresses, of: [table], in: file), at: table, to: places))
        }
        self.stubs = stubs
        starts = functionTable.map { Self.starts(in: $0, of: file) } ?? []
    }

    /// Whether the function at an address has such a call, inlined functions included.
    ///
    /// - Parameter address: The address, as linked.
    /// - Returns: True where that cannot be told, as in a file without section headers: then nothing is cleared.
    func contain(functionAt address: UInt64) -> Bool {
        guard !code.isEmpty else { return true }
        // What is no code is no function: a jump into data holds no lock by itself.
        guard !places.isEmpty, code.contains(where: { $0.addresses.contains(address) }) else { return false }
        guard let function = extent(ofFunctionAt: address) else { return true }
        let bytes = Self.bytes(function, of: code, in: file)
        guard bytes.count == function.count else { return true }
        for index in bytes.indices.dropLast(5) {
            switch bytes[index] {
            // CALL and JMP, both with a relative operand of 32 bits.
            case 0xe8, 0xe9:
                if stubs.contains(Self.target(bytes, index + 1, in: function)) { return true }
            // CALL and JMP through memory that is addressed relative to the next instruction.
            case 0xff where bytes[index + 1] == 0x15 || bytes[index + 1] == 0x25:
                if places.contains(Self.target(bytes, index + 2, in: function)) { return true }
            default: break
            }
        }
        return false
    }

    /// From the function's start to that of the next one.
    private func extent(ofFunctionAt address: UInt64) -> Range<UInt64>? {
        var (low, high) = (0, starts.count)
        while low < high {
            let middle = low + (high - low) / 2
            if starts[middle] <= address { low = middle + 1 } else { high = middle }
        }
        guard low > 0, let section = code.first(where: { $0.addresses.contains(address) }) else { return nil }
        let start = max(starts[low - 1], section.addresses.lowerBound)
        let end = min(low < starts.count ? starts[low] : .max, section.addresses.upperBound)
        return start < end && end - start <= Self.longestFunction ? start..<end : nil
    }

    /// The starts of all functions, in order, from the table for exceptions: also a file without symbols has it.
    ///
    /// Four bytes of encodings, the address of `.eh_frame`, the number of entries, and the entries: start and description, each
    /// relative to the table (Linux Standard Base, "The .eh_frame_hdr section"). Every linker writes it in these encodings.
    private static func starts(in table: Section, of file: ELFFile) -> [UInt64] {
        let bytes = bytes(table.addresses, of: [table], in: file)
        guard bytes.starts(with: [1, 0x1b, 0x03, 0x3b]) else { return [] }
        func word(_ offset: Int) -> UInt32 {
            (0..<4).reversed().reduce(0) { $0 << 8 | UInt32(bytes[offset + $1]) }
        }
        guard bytes.count >= 12 else { return [] }
        let count = min(Int(word(8)), (bytes.count - 12) / 8)
        return (0..<count).map { index in
            table.addresses.lowerBound &+ UInt64(bitPattern: Int64(Int32(bitPattern: word(12 + 8 * index))))
        }.sorted()
    }

    private static func places(in section: OpaquePointer, _ header: GElf_Shdr, of file: ELFFile) -> [UInt64] {
        var symbolHeader = GElf_Shdr()
        guard let table = unsafe elf_getscn(file.handle, Int(header.sh_link)),
            unsafe gelf_getshdr(table, &symbolHeader) != nil,
            let symbols = unsafe elf_getdata(table, nil), let relocations = unsafe elf_getdata(section, nil)
        else { return [] }
        var places: [UInt64] = []
        for index in 0..<min(unsafe relocations.pointee.d_size / MemoryLayout<Elf64_Rela>.size, 1 << 20) {
            var relocation = GElf_Rela()
            guard unsafe gelf_getrela(relocations, CInt(index), &relocation) != nil else { break }
            let type = CInt(truncatingIfNeeded: relocation.r_info & 0xffff_ffff)
            guard type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT else { continue }
            var symbol = GElf_Sym()
            guard unsafe gelf_getsym(symbols, CInt(truncatingIfNeeded: relocation.r_info >> 32), &symbol) != nil,
                let name = unsafe elf_strptr(file.handle, Int(symbolHeader.sh_link), Int(symbol.st_name)),
                unsafe isSlowPath(String(cString: name))
            else { continue }
            places.append(relocation.r_offset)
        }
        return places
    }

    private static func stubs(in bytes: [UInt8], at table: Section, to places: Set<UInt64>) -> [UInt64] {
        bytes.indices.dropLast(5).flatMap { index -> [UInt64] in
            guard bytes[index] == 0xff, bytes[index + 1] == 0x25,
                places.contains(target(bytes, index + 2, in: table.addresses))
            else { return [] }
            // ENDBR64 (4 bytes), a BND prefix (1 byte), both or none may come before.
            let jump = table.addresses.lowerBound + UInt64(index)
            return [0, 1, 4, 5].map { jump &- $0 }
        }
    }

    /// What an operand of 32 bits that ends an instruction refers to.
    private static func target(_ bytes: [UInt8], _ index: Int, in addresses: Range<UInt64>) -> UInt64 {
        var operand: UInt32 = 0
        for offset in (0..<4).reversed() { operand = operand << 8 | UInt32(bytes[index + offset]) }
        let next = addresses.lowerBound &+ UInt64(index + 4)
        return next &+ UInt64(bitPattern: Int64(Int32(bitPattern: operand)))
    }

    private static func bytes(_ range: Range<UInt64>, of sections: [Section], in file: ELFFile) -> [UInt8] {
        guard
            let section = sections.first(where: {
                $0.addresses.contains(range.lowerBound) && range.upperBound <= $0.addresses.upperBound
            })
        else { return [] }
        return file.bytes(at: section.offset &+ (range.lowerBound - section.addresses.lowerBound), count: range.count)
    }

    /// Whether a symbol is what takes the lock of a `Mutex` that somebody else holds; without a competitor it is taken by an
    /// instruction (stdlib/public/Synchronization/Mutex/LinuxImpl.swift).
    static func isSlowPath(_ symbol: String) -> Bool {
        let start = "$s15Synchronization12_MutexHandleV"
        let name = symbol.dropFirst(start.count)
        return symbol.hasPrefix(start) && (name.hasPrefix("9_lockSlow") || name.hasPrefix("12_tryLockSlow"))
    }
}
