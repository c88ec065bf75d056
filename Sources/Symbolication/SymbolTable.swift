internal import CElfutils
internal import Glibc

/// The functions and data that a file's symbol table names, by address as linked.
struct SymbolTable {
    struct Symbol {
        var name: String
        var start: UInt64
        var isData: Bool
    }

    private struct Name {
        var offset: UInt32
        var isGlobal: Bool
        var isData: Bool
    }

    /// More symbols than any program has; the rest of a larger table is not read.
    private static let mostSymbols = 4 << 20

    private let file: ELFFile
    private let table: AddressTable<Name>
    private let strings: Int

    /// Reads the static symbol table, or the dynamic one if the file has been stripped.
    ///
    /// - Parameter file: The file.
    init(of file: ELFFile) {
        self.file = file
        var best: (section: OpaquePointer, header: GElf_Shdr)?
        unsafe file.forEachSection { section, header, _ in
            let isStatic = header.sh_type == UInt32(SHT_SYMTAB)
            if unsafe isStatic || (best == nil && header.sh_type == UInt32(SHT_DYNSYM)) {
                unsafe best = (section, header)
            }
        }
        guard let best = unsafe best, let data = unsafe elf_getdata(best.section, nil) else {
            table = AddressTable([])
            strings = 0
            return
        }
        strings = unsafe Int(best.header.sh_link)
        table = unsafe AddressTable(Self.symbols(in: data))
    }

    private static func symbols(in data: UnsafeMutablePointer<Elf_Data>) -> [AddressTable<Name>.Entry] {
        let count = unsafe min(data.pointee.d_size / MemoryLayout<Elf64_Sym>.size, mostSymbols)
        var entries: [AddressTable<Name>.Entry] = []
        for index in 0..<count {
            var symbol = GElf_Sym()
            guard unsafe gelf_getsym(data, CInt(index), &symbol) != nil else { break }
            let type = CInt(symbol.st_info & 0xf)
            // Data, too: a jump through a bad pointer can end there.
            let isData = type == STT_OBJECT
            guard type == STT_FUNC || type == STT_GNU_IFUNC || isData, symbol.st_shndx != UInt16(SHN_UNDEF) else {
                continue
            }
            // A symbol without a size covers nothing: to name an address after it would be a guess.
            let (end, overflow) = symbol.st_value.addingReportingOverflow(symbol.st_size)
            guard symbol.st_size > 0, !overflow else { continue }
            let name = Name(offset: symbol.st_name, isGlobal: CInt(symbol.st_info >> 4) == STB_GLOBAL, isData: isData)
            entries.append(.init(start: symbol.st_value, end: end, value: name))
        }
        return entries
    }

    /// The innermost symbol whose extent contains an address: of a function, or else of data.
    ///
    /// - Parameter address: The address, as linked.
    /// - Returns: The symbol; of several with the same start, the one that a programmer would name.
    func symbol(at address: UInt64) -> Symbol? {
        let all = table.entries(containing: address)
        let functions = all.filter { !$0.value.isData }
        let entries = functions.isEmpty ? all : functions
        guard let start = entries.first?.start else { return nil }
        let candidates = entries.filter { $0.start == start }.compactMap { entry -> (name: String, isGlobal: Bool)? in
            guard let name = unsafe elf_strptr(file.handle, strings, Int(entry.value.offset)) else { return nil }
            return (unsafe String(cString: name), entry.value.isGlobal)
        }
        let best = candidates.filter { !$0.name.isEmpty }.min { rank($0) < rank($1) }
        return best.map { Symbol(name: $0.name, start: start, isData: functions.isEmpty) }
    }

    /// Orders aliases: global ones, then those that look least internal (`malloc` before `__libc_malloc`), then short ones.
    private func rank(_ alias: (name: String, isGlobal: Bool)) -> (Int, Int, Int, String) {
        let underscores = alias.name.prefix { $0 == "_" }.count
        return (alias.isGlobal ? 0 : 1, underscores, alias.name.utf8.count, alias.name)
    }
}
