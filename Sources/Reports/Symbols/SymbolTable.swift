internal import Glibc

/// The functions and data that a file's symbol table names, by address as linked.
struct SymbolTable {
    struct Symbol {
        var name: String
        var start: UInt64
        var isData: Bool
    }

    fileprivate struct Name {
        var offset: UInt32
        var isGlobal: Bool
        var isData: Bool
    }

    /// A function, by address as linked.
    struct Function {
        var start: UInt64
        var end: UInt64
        fileprivate var name: Name

        /// Whether other files may use it.
        var isGlobal: Bool { name.isGlobal }
    }

    private let table: AddressTable<Name>
    private let names: ELFNames

    /// Reads the static symbol table, or the dynamic one if the file has been stripped.
    ///
    /// - Parameter file: The file.
    init(of file: ELFFile) {
        var entries: [AddressTable<Name>.Entry] = []
        names = file.forEachSymbol { symbol, type, end in
            // Data, too: a jump through a bad pointer can end there.
            let isData = type == STT_OBJECT
            guard isData || type == STT_FUNC || type == STT_GNU_IFUNC else { return }
            let isGlobal = CInt(symbol.st_info >> 4) == STB_GLOBAL
            let name = Name(offset: symbol.st_name, isGlobal: isGlobal, isData: isData)
            entries.append(.init(start: symbol.st_value, end: end, value: name))
        }
        table = AddressTable(entries)
    }

    /// The functions, by start.
    var functions: [Function] {
        table.all.compactMap { $0.value.isData ? nil : Function(start: $0.start, end: $0.end, name: $0.value) }
    }

    /// The name of one of its functions; "" where that cannot be read.
    func name(of function: Function) -> String { names[Int(function.name.offset)] }

    private static let swiftStarts: [StaticString] = ["$s", "$S", "$e", "_T0", "__swift_"]
    private static let swiftTexts = swiftStarts.map(\.description)

    /// Whether a symbol begins as those of Swift do: mangled names (swift/docs/ABI/Mangling.rst, "Globals"), and helpers of the
    /// compiler's own (`__swift_memcpy16_8`).
    static func isSwift(_ name: String) -> Bool { swiftTexts.contains(where: name.hasPrefix) }

    /// The same of one of its functions.
    func isSwift(_ function: Function) -> Bool {
        names.begins(at: Int(function.name.offset), withOneOf: Self.swiftStarts)
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
        let candidates = entries.filter { $0.start == start }
            .map { (name: names[Int($0.value.offset)], isGlobal: $0.value.isGlobal) }
        let best = candidates.filter { !$0.name.isEmpty }.min { rank($0) < rank($1) }
        return best.map { Symbol(name: $0.name, start: start, isData: functions.isEmpty) }
    }

    /// Orders aliases: global ones, then those that look least internal (`malloc` before `__libc_malloc`), then short ones.
    private func rank(_ alias: (name: String, isGlobal: Bool)) -> (Int, Int, Int, String) {
        let underscores = alias.name.prefix { $0 == "_" }.count
        return (alias.isGlobal ? 0 : 1, underscores, alias.name.utf8.count, alias.name)
    }
}
