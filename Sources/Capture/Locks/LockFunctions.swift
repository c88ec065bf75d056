internal import Glibc
internal import Symbolication

/// The functions that take and release locks, as the code of a file calls them.
///
/// A call to another library goes through a stub in `.plt`, which jumps to the address that the dynamic linker has stored, or it uses that
/// address itself. The relocation of the stored address names the function (System V ABI, AMD64 supplement, "Procedure Linkage Table"). The
/// functions of a static standard library are called themselves.
struct LockFunctions {
    /// What the functions do whose addresses are stored at these places.
    private(set) var places: [UInt64: HeldLocks.Effect] = [:]
    /// What the functions or stubs at these addresses do.
    private(set) var stubs: [UInt64: HeldLocks.Effect] = [:]

    var isEmpty: Bool { places.isEmpty && stubs.isEmpty }

    /// None.
    init() {}

    /// Reads the relocations, the stubs and the symbols of a file; nil if one of them cannot be read in full: it may name what the others do not.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - symbols: The file that has its symbols; nil if none has.
    ///   - isStatic: Whether the standard library is a part of it: then only symbols tell its functions.
    init?(of file: ELFFile, symbols: ELFFile?, isStatic: Bool) {
        for section in file.sections where section.header.sh_type == UInt32(SHT_RELA) {
            guard let found = Self.places(in: section, of: file) else { return nil }
            places.merge(found) { first, _ in first }
        }
        if let symbols {
            guard let found = Self.definitions(in: symbols) else { return nil }
            symbols.forgetSymbols()
            stubs = found
        } else if isStatic {
            return nil
        }
        guard !places.isEmpty else { return }
        for section in file.sections where section.name.hasPrefix(".plt") {
            let header = section.header
            guard header.sh_type == UInt32(SHT_PROGBITS), header.sh_flags & UInt64(SHF_EXECINSTR) != 0 else { continue }
            let bytes = file.contents(of: section)
            guard bytes.count == header.sh_size else { return nil }
            stubs.merge(Self.stubs(in: bytes, at: header.sh_addr, to: places)) { first, _ in first }
        }
    }

    // MARK: For the program's next process

    /// How many bytes a function takes: an address as linked, in the order of this machine's bytes, and what is done.
    private static let entrySize = 9

    /// How many places there are, as a word of 64 bits; these, in the order of their addresses; and the stubs.
    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        func append(_ word: UInt64) { unsafe withUnsafeBytes(of: word) { unsafe bytes.append(contentsOf: $0) } }
        append(UInt64(places.count))
        for list in [places, stubs] {
            for (address, effect) in list.sorted(by: { $0.key < $1.key }) {
                append(address)
                bytes.append(effect.rawValue)
            }
        }
        return bytes
    }

    /// Takes over what `encoded()` gave; nil for anything else.
    init?(decoding bytes: ArraySlice<UInt8>) {
        let bytes = Array(bytes)
        guard let count = bytes.value(UInt64.self, at: 0), bytes.count % Self.entrySize == 8,
            count <= UInt64(bytes.count / Self.entrySize)
        else { return nil }
        for (index, start) in stride(from: 8, to: bytes.count, by: Self.entrySize).enumerated() {
            guard let address = bytes.value(UInt64.self, at: start),
                let effect = HeldLocks.Effect(rawValue: bytes[start + 8]), effect != .none
            else { return nil }
            if index < count { places[address] = effect } else { stubs[address] = effect }
        }
    }

    // MARK: Reading

    /// The functions with an effect that the file itself has: those of a static standard library; nil if its symbols cannot be read.
    private static func definitions(in file: ELFFile) -> [UInt64: HeldLocks.Effect]? {
        guard file.readsSymbols else { return nil }
        var functions: [(start: UInt64, name: Int)] = []
        let names = file.forEachSymbol { symbol, type, _ in
            if type == STT_FUNC { functions.append((symbol.st_value, Int(symbol.st_name))) }
        }
        var effects: [UInt64: HeldLocks.Effect] = [:]
        for function in functions where names.begins(at: function.name, withOneOf: definedStarts) {
            let name = names[function.name]
            effects[function.start] = effect(ofSlowPath: name) ?? effect(ofDispatch: name)
        }
        return effects
    }

    private static let mostRelocations = 1 << 20
    private static let slowPathStart = "$s15Synchronization12_MutexHandleV"
    private static let definedStarts: [StaticString] = [
        "$s15Synchronization12_MutexHandleV", "dispatch_", "$s8Dispatch0A9SemaphoreC", "$s8Dispatch0A5GroupC",
    ]

    /// The effect of a function of a static libdispatch, which is not counted (`lock_tracking.c`).
    ///
    /// Only what one function does between the two is seen: one that waits and returns holds nothing here.
    static func effect(ofDispatch symbol: String) -> HeldLocks.Effect? {
        switch symbol {
        case "dispatch_semaphore_wait", "dispatch_group_enter", "dispatch_suspend": return .acquires
        case "dispatch_semaphore_signal", "dispatch_group_leave", "dispatch_resume": return .releases
        default: break
        }
        if symbol.hasPrefix("$s8Dispatch0A9SemaphoreC4wait") || symbol.hasPrefix("$s8Dispatch0A5GroupC5enter") {
            return .acquires
        }
        let releases =
            symbol.hasPrefix("$s8Dispatch0A9SemaphoreC6signal") || symbol.hasPrefix("$s8Dispatch0A5GroupC5leave")
        return releases ? .releases : nil
    }

    /// The places that a table of relocations names; nil if it, its symbols or their names cannot be read in full.
    private static func places(in section: ELFFile.Section, of file: ELFFile) -> [UInt64: HeldLocks.Effect]? {
        let relocations = file.contents(of: section)
        let entries = relocations.count / MemoryLayout<Elf64_Rela>.size
        // `contents(of:)` reads all of a section or nothing.
        guard relocations.count == section.header.sh_size, entries <= mostRelocations else { return nil }
        var isWhole = true
        var places: [UInt64: HeldLocks.Effect] = [:]
        // Read for the first relocation that has a symbol: the table of a static program refers to no symbols.
        var tables: (symbols: [UInt8], names: ELFNames)?
        relocations.forEach(Elf64_Rela.self, atMost: entries) { relocation in
            let type = CInt(truncatingIfNeeded: relocation.r_info & 0xffff_ffff)
            guard isWhole, type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT else { return }
            if tables == nil { tables = symbols(of: section, in: file) }
            let place = Int(relocation.r_info >> 32) * MemoryLayout<Elf64_Sym>.size
            guard let (symbols, names) = tables, let symbol = symbols.value(Elf64_Sym.self, at: place) else {
                isWhole = false
                return
            }
            places[relocation.r_offset] = effect(ofSlowPath: names[Int(symbol.st_name)])
        }
        return isWhole ? places : nil
    }

    private static func symbols(
        of relocations: ELFFile.Section,
        in file: ELFFile
    ) -> (symbols: [UInt8], names: ELFNames)? {
        guard let table = file.linked(from: relocations), let strings = file.linked(from: table) else { return nil }
        let names = file.contents(of: strings)
        return names.isEmpty ? nil : (file.contents(of: table), ELFNames(names))
    }

    private static func stubs(
        in bytes: [UInt8],
        at start: UInt64,
        to places: [UInt64: HeldLocks.Effect]
    ) -> [UInt64: HeldLocks.Effect] {
        var stubs: [UInt64: HeldLocks.Effect] = [:]
        for index in bytes.indices.dropLast(5) where bytes[index] == 0xff && bytes[index + 1] == 0x25 {
            guard let effect = places[RelativeOperand.target(bytes, at: index + 2, of: start)] else { continue }
            // ENDBR64 (4 bytes), a BND prefix (1 byte), both or none may come before.
            let jump = start &+ UInt64(index)
            for prefix in [0, 1, 4, 5] as [UInt64] { stubs[jump &- prefix] = effect }
        }
        return stubs
    }

    /// The effect of a symbol that takes the lock of a `Mutex` that another thread holds, or releases one that another thread waits for;
    /// nil for any other symbol (stdlib/public/Synchronization/Mutex/LinuxImpl.swift).
    static func effect(ofSlowPath symbol: String) -> HeldLocks.Effect? {
        guard symbol.hasPrefix(slowPathStart) else { return nil }
        let name = symbol.dropFirst(slowPathStart.count)
        if name.hasPrefix("9_lockSlow") || name.hasPrefix("12_tryLockSlow") { return .takes }
        return name.hasPrefix("11_unlockSlow") ? .letsGo : nil
    }
}

/// A 32-bit operand at the end of an instruction, relative to the next one.
enum RelativeOperand {
    /// What it refers to.
    ///
    /// - Parameters:
    ///   - bytes: Code.
    ///   - index: Where in it the operand begins.
    ///   - start: The address of the code.
    /// - Returns: An address.
    static func target(_ bytes: [UInt8], at index: Int, of start: UInt64) -> UInt64 {
        var operand: UInt32 = 0
        for offset in (0..<4).reversed() { operand = operand << 8 | UInt32(bytes[index + offset]) }
        return start &+ UInt64(index + 4) &+ UInt64(bitPattern: Int64(Int32(bitPattern: operand)))
    }
}
