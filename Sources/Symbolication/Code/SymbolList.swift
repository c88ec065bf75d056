internal import CElfutils
internal import Glibc

/// The functions that a file's symbol table names, by start.
struct SymbolList {
    /// A function, by address as linked.
    struct Function {
        var start: UInt64
        var end: UInt64
        /// Whether its name is one that the Swift compiler gives.
        var isSwift: Bool
        fileprivate let file: ELFFile
        fileprivate let strings: Int
        fileprivate let place: Int

        /// Its name; "" where that cannot be read.
        func name() -> String {
            unsafe elf_strptr(file.handle, strings, place).map { unsafe String(cString: $0) } ?? ""
        }
    }

    /// More symbols than any program has; the rest of a larger table is not read.
    private static let mostSymbols = 4 << 20

    /// The functions, the first one first.
    let functions: [Function]

    /// Reads the static symbol table, or the dynamic one if the file has been stripped.
    init(of file: ELFFile) {
        var best: (section: OpaquePointer, header: GElf_Shdr)?
        unsafe file.forEachSection { section, header, _ in
            let isStatic = header.sh_type == UInt32(SHT_SYMTAB)
            if unsafe isStatic || (best == nil && header.sh_type == UInt32(SHT_DYNSYM)) {
                unsafe best = (section, header)
            }
        }
        guard let best = unsafe best, let data = unsafe elf_getdata(best.section, nil) else {
            functions = []
            return
        }
        let strings = unsafe Int(best.header.sh_link)
        let count = unsafe min(data.pointee.d_size / MemoryLayout<Elf64_Sym>.size, Self.mostSymbols)
        var functions: [Function] = []
        for index in 0..<count {
            var symbol = GElf_Sym()
            guard unsafe gelf_getsym(data, CInt(index), &symbol) != nil else { break }
            let type = CInt(symbol.st_info & 0xf)
            let (end, overflow) = symbol.st_value.addingReportingOverflow(symbol.st_size)
            guard type == STT_FUNC || type == STT_GNU_IFUNC, symbol.st_shndx != UInt16(SHN_UNDEF),
                symbol.st_size > 0, !overflow
            else { continue }
            let place = Int(symbol.st_name)
            let isSwift = unsafe elf_strptr(file.handle, strings, place).map { unsafe Self.isSwift($0) } ?? false
            functions.append(
                Function(
                    start: symbol.st_value,
                    end: end,
                    isSwift: isSwift,
                    file: file,
                    strings: strings,
                    place: place
                )
            )
        }
        self.functions = functions.sorted { $0.start < $1.start }
    }

    private static let starts: [String] = ["$s", "$S", "$e", "_T0", "__swift_"]

    /// Whether a symbol begins as those of Swift do: mangled names (swift/docs/ABI/Mangling.rst, "Globals"), and helpers of the
    /// compiler's own (`__swift_memcpy16_8`).
    private static func isSwift(_ name: UnsafePointer<CChar>) -> Bool {
        starts.contains { unsafe strncmp(name, $0, $0.utf8.count) == 0 }
    }
}
