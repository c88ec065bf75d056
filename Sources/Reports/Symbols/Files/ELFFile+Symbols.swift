internal import CElfutils
internal import Glibc

extension ELFFile {
    /// More symbols than any program has; the rest of a larger table is not read.
    private static let mostSymbols = 4 << 20

    /// Calls a function with each symbol that covers a place in the file, of the static symbol table, or of the dynamic one if the file
    /// has been stripped.
    ///
    /// One without a size covers nothing: to name an address after it would be a guess.
    ///
    /// - Parameter body: Gets the symbol, its type (elf(5), `STT_…`), and where it ends.
    /// - Returns: The section in which their names are; nil in a file without symbols.
    func forEachSymbol(_ body: (_ symbol: GElf_Sym, _ type: CInt, _ end: UInt64) -> Void) -> Int? {
        var best: (section: OpaquePointer, header: GElf_Shdr)?
        unsafe forEachSection { section, header, _ in
            let isStatic = header.sh_type == UInt32(SHT_SYMTAB)
            if unsafe isStatic || (best == nil && header.sh_type == UInt32(SHT_DYNSYM)) {
                unsafe best = (section, header)
            }
        }
        guard let best = unsafe best, let data = unsafe elf_getdata(best.section, nil) else { return nil }
        for index in unsafe 0..<min(data.pointee.d_size / MemoryLayout<Elf64_Sym>.size, Self.mostSymbols) {
            var symbol = GElf_Sym()
            guard unsafe gelf_getsym(data, CInt(index), &symbol) != nil else { break }
            let (end, overflow) = symbol.st_value.addingReportingOverflow(symbol.st_size)
            guard symbol.st_shndx != UInt16(SHN_UNDEF), symbol.st_size > 0, !overflow else { continue }
            body(symbol, CInt(symbol.st_info & 0xf), end)
        }
        return unsafe Int(best.header.sh_link)
    }
}
