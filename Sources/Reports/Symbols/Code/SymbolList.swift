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

    /// The functions, the first one first.
    let functions: [Function]

    /// Reads the static symbol table, or the dynamic one if the file has been stripped.
    init(of file: ELFFile) {
        var symbols: [(symbol: GElf_Sym, end: UInt64)] = []
        let strings = file.forEachSymbol { symbol, type, end in
            if type == STT_FUNC || type == STT_GNU_IFUNC { symbols.append((symbol, end)) }
        }
        let functions = symbols.map { symbol, end in
            let place = Int(symbol.st_name)
            let name = unsafe elf_strptr(file.handle, strings ?? 0, place)
            return Function(
                start: symbol.st_value,
                end: end,
                isSwift: unsafe name.map { unsafe Self.isSwift($0) } ?? false,
                file: file,
                strings: strings ?? 0,
                place: place
            )
        }
        self.functions = functions.sorted { $0.start < $1.start }
    }

    private static let starts: [String] = ["$s", "$S", "$e", "_T0", "__swift_"]

    /// Whether a symbol begins as those of Swift do: mangled names (swift/docs/ABI/Mangling.rst, "Globals"), and helpers of the
    /// compiler's own (`__swift_memcpy16_8`).
    static func isSwift(_ name: UnsafePointer<CChar>) -> Bool {
        starts.contains { unsafe strncmp(name, $0, $0.utf8.count) == 0 }
    }
}
