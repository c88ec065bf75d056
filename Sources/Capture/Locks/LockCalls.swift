internal import Glibc
internal import LinuxSystem
internal import Symbolication

/// Which functions of a file use a `Mutex`, and where in them one may be held.
///
/// It reads the machine code, because in a debug build nothing else tells: where a lock is taken or released, there is a call for the case
/// that another thread wants it. A call to another library goes through a stub in `.plt`, which jumps to the address that the dynamic
/// linker has stored, or it uses that address itself. The relocation of the stored address names the function (System V ABI, AMD64
/// supplement, "Procedure Linkage Table").
@safe
final class LockCalls {
    /// A longer function, or a larger table, counts as damage.
    private static let longestFunction: UInt64 = 4 << 20
    private static let largestTable: UInt64 = 64 << 20
    private static let mostRelocations = 1 << 20

    private struct Section {
        var addresses: Range<UInt64>
        var offset: UInt64
    }

    private let file: ELFFile
    private let code: [Section]
    /// What the functions do whose addresses are stored at these places, and what the stubs at these places lead to.
    private let places: [UInt64: HeldLocks.Effect]
    private let stubs: [UInt64: HeldLocks.Effect]
    /// Whether a table of relocations could not be read in full: it may name what the others do not.
    private let isPartial: Bool
    private let starts: [UInt64]
    /// Whether a function only releases a lock, by its start.
    private var releasers: [UInt64: Bool] = [:]

    /// Reads a file's relocations and stubs.
    init(of file: ELFFile) {
        self.file = file
        var code: [Section] = []
        var places: [UInt64: HeldLocks.Effect] = [:]
        var tables: [Section] = []
        var functionTable: Section?
        var isPartial = false
        for section in file.sections {
            let header = section.header
            if header.sh_type == UInt32(SHT_RELA) {
                guard let found = Self.places(in: section, of: file) else {
                    isPartial = true
                    continue
                }
                places.merge(found) { first, _ in first }
            }
            let (end, overflow) = header.sh_addr.addingReportingOverflow(header.sh_size)
            guard !overflow, header.sh_type == UInt32(SHT_PROGBITS) || section.name == ".eh_frame_hdr" else { continue }
            let part = Section(addresses: header.sh_addr..<end, offset: header.sh_offset)
            if section.name == ".eh_frame_hdr", header.sh_size <= Self.largestTable { functionTable = part }
            guard header.sh_flags & UInt64(SHF_EXECINSTR) != 0 else { continue }
            if section.name.hasPrefix(".plt") { tables.append(part) } else { code.append(part) }
        }
        self.code = code
        self.places = places
        self.isPartial = isPartial
        // A static standard library is called without a stub.
        var stubs = Self.definitions(in: file)
        file.forgetSymbols()
        guard !places.isEmpty || !stubs.isEmpty else {
            self.stubs = [:]
            starts = []
            return
        }
        for table in tables {
            let bytes = Self.bytes(table.addresses, of: [table], in: file)
            stubs.merge(Self.stubs(in: bytes, at: table, to: places)) { first, _ in first }
        }
        self.stubs = stubs
        starts = functionTable.map { Self.starts(in: $0, of: file) } ?? []
    }

    /// Whether the function at an address uses a `Mutex`, inlined functions included, and may hold it there.
    ///
    /// - Parameters:
    ///   - address: The address, as linked; for a return address one in the call.
    ///   - isExact: Whether the instruction at the address is the one that comes next.
    /// - Returns: True also if it is unknown: in a file without section headers or with unreadable relocations, or in a function with an
    ///   indirect jump while a lock is held.
    func mayBeHeld(at address: UInt64, isExact: Bool) -> Bool {
        guard !code.isEmpty, !isPartial else { return true }
        // An address outside of code belongs to no function: a jump into data holds no lock by itself.
        guard !starts.isEmpty, code.contains(where: { $0.addresses.contains(address) }) else { return false }
        guard let function = extent(ofFunctionAt: address) else { return true }
        let bytes = Self.bytes(function, of: code, in: file)
        guard bytes.count == function.count else { return true }
        guard has(.takes, bytes, function) || has(.acquires, bytes, function) else { return false }
        let held = locks(heldIn: bytes, function)
        return held?.mayBeHeld(at: Int(address - function.lowerBound), isExact: isExact) ?? true
    }

    /// The starts of the functions that use a `Mutex`, with where it may be held; nil if that is unknown.
    var users: [(start: UInt64, held: HeldLocks?)] {
        starts.compactMap { start in
            guard let function = extent(ofFunctionAt: start) else { return nil }
            let bytes = Self.bytes(function, of: code, in: file)
            return has(.takes, bytes, function) ? (start, locks(heldIn: bytes, function)) : nil
        }
    }

    private func locks(heldIn bytes: [UInt8], _ function: Range<UInt64>) -> HeldLocks? {
        HeldLocks(
            in: bytes,
            effectOfCall: { self.effect(ofCall: function.lowerBound &+ UInt64(bitPattern: Int64($0))) },
            effectOfPlace: { self.places[function.lowerBound &+ UInt64(bitPattern: Int64($0))] ?? .none }
        )
    }

    /// The effect of a call of a function.
    private func effect(ofCall address: UInt64) -> HeldLocks.Effect {
        stubs[address] ?? (isReleaser(address) ? .releases : .none)
    }

    /// Whether a function releases a lock on all paths through it, and takes none.
    ///
    /// `withLock` has such a function in debug builds.
    private func isReleaser(_ address: UInt64) -> Bool {
        if let known = releasers[address] { return known }
        var answer = false
        if let function = extent(ofFunctionAt: address), function.lowerBound == address {
            let bytes = Self.bytes(function, of: code, in: file)
            if bytes.count == function.count, has(.letsGo, bytes, function), !has(.takes, bytes, function) {
                let held = HeldLocks(
                    in: bytes,
                    holding: 1,
                    effectOfCall: { self.stubs[address &+ UInt64(bitPattern: Int64($0))] ?? .none },
                    effectOfPlace: { self.places[address &+ UInt64(bitPattern: Int64($0))] ?? .none }
                )
                answer = held?.atEnd == 0
            }
        }
        releasers[address] = answer
        return answer
    }

    /// Whether some code seems to call or jump to a function with an effect.
    private func has(_ effect: HeldLocks.Effect, _ bytes: [UInt8], _ function: Range<UInt64>) -> Bool {
        for index in bytes.indices.dropLast(5) {
            switch bytes[index] {
            // CALL, JMP and Jcc, all with a relative operand of 32 bits.
            case 0xe8, 0xe9, 0x80...0x8f:
                // Conditional jumps, with another byte before.
                if stubs[Self.target(bytes, index + 1, in: function)] == effect { return true }
            // CALL and JMP through memory that is addressed relative to the next instruction.
            case 0xff where bytes[index + 1] == 0x15 || bytes[index + 1] == 0x25:
                if places[Self.target(bytes, index + 2, in: function)] == effect { return true }
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

    /// The starts of all functions, in order, from the table for exceptions: even a file without symbols has it.
    private static func starts(in table: Section, of file: ELFFile) -> [UInt64] {
        let bytes = bytes(table.addresses, of: [table], in: file)
        func load(_ address: UInt64) -> UInt64? {
            let offset = address &- table.addresses.lowerBound
            return offset < bytes.count ? bytes.value(UInt64.self, at: Int(offset)) : nil
        }
        guard let functions = FunctionTable(at: table.addresses.lowerBound, load) else { return [] }
        let count = min(Int(functions.count), (bytes.count - 12) / 8)
        return (0..<count).compactMap { functions.start(UInt64($0), load) }.sorted()
    }

    /// The functions with an effect that the file itself has: those of a static standard library.
    private static func definitions(in file: ELFFile) -> [UInt64: HeldLocks.Effect] {
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
        at table: Section,
        to places: [UInt64: HeldLocks.Effect]
    ) -> [UInt64: HeldLocks.Effect] {
        var stubs: [UInt64: HeldLocks.Effect] = [:]
        for index in bytes.indices.dropLast(5) where bytes[index] == 0xff && bytes[index + 1] == 0x25 {
            guard let effect = places[target(bytes, index + 2, in: table.addresses)] else { continue }
            // ENDBR64 (4 bytes), a BND prefix (1 byte), both or none may come before.
            let jump = table.addresses.lowerBound + UInt64(index)
            for prefix in [0, 1, 4, 5] as [UInt64] { stubs[jump &- prefix] = effect }
        }
        return stubs
    }

    /// The target of a 32-bit operand at the end of an instruction.
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

    /// The effect of a symbol that takes the lock of a `Mutex` that another thread holds, or releases one that another thread waits for;
    /// nil for any other symbol (stdlib/public/Synchronization/Mutex/LinuxImpl.swift).
    static func effect(ofSlowPath symbol: String) -> HeldLocks.Effect? {
        guard symbol.hasPrefix(slowPathStart) else { return nil }
        let name = symbol.dropFirst(slowPathStart.count)
        if name.hasPrefix("9_lockSlow") || name.hasPrefix("12_tryLockSlow") { return .takes }
        return name.hasPrefix("11_unlockSlow") ? .letsGo : nil
    }
}
