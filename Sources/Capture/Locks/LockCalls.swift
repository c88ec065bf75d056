internal import Glibc
internal import LinuxSystem
internal import Symbolication

/// Which functions of a file use a `Mutex`, and where in them one may be held.
///
/// It reads the machine code, because in a debug build nothing else tells: where a lock is taken or released, there is a call for the case
/// that another thread wants it.
@safe
final class LockCalls {
    /// A longer function counts as damage.
    private static let longestFunction: UInt64 = 4 << 20

    private struct Section {
        var addresses: Range<UInt64>
        var offset: UInt64
    }

    private let file: ELFFile
    private let code: [Section]
    private let functions: LockFunctions
    /// Nil if they could not be read: some function may use a lock that is not known.
    private let starts: FunctionStarts?
    /// Whether a function only releases a lock, by its start.
    private var releasers: [UInt64: Bool] = [:]

    /// Finds the functions of a file.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - functions: Those that take and release locks; nil if they could not be read.
    init(of file: ELFFile, calling functions: LockFunctions?) {
        self.file = file
        self.functions = functions ?? LockFunctions()
        var code: [Section] = []
        var table: Section?
        for section in file.sections {
            let header = section.header
            let (end, overflow) = header.sh_addr.addingReportingOverflow(header.sh_size)
            guard !overflow, header.sh_type == UInt32(SHT_PROGBITS) || section.name == ".eh_frame_hdr" else { continue }
            let part = Section(addresses: header.sh_addr..<end, offset: header.sh_offset)
            if section.name == ".eh_frame_hdr" { table = part }
            if header.sh_flags & UInt64(SHF_EXECINSTR) != 0, !section.name.hasPrefix(".plt") { code.append(part) }
        }
        self.code = code
        starts =
            switch functions?.isEmpty {
            case nil: nil
            case true?: FunctionStarts()
            case false?: table.flatMap { FunctionStarts(at: $0.addresses, $0.offset, of: file) }
            }
    }

    /// Whether the function at an address uses a `Mutex`, inlined functions included, and may hold it there.
    ///
    /// - Parameters:
    ///   - address: The address, as linked; for a return address one in the call.
    ///   - isExact: Whether the instruction at the address is the one that comes next.
    /// - Returns: True also if it is unknown: in a file without section headers or with unreadable relocations, or in a function with an
    ///   indirect jump while a lock is held.
    func mayBeHeld(at address: UInt64, isExact: Bool) -> Bool {
        guard !code.isEmpty, let starts else { return true }
        // An address outside of code belongs to no function: a jump into data holds no lock by itself.
        guard starts.count > 0, code.contains(where: { $0.addresses.contains(address) }) else { return false }
        guard let function = extent(ofFunctionAt: address) else { return true }
        let bytes = Self.bytes(function, of: code, in: file)
        guard bytes.count == function.count else { return true }
        guard has(.takes, bytes, function) || has(.acquires, bytes, function) else { return false }
        let held = locks(heldIn: bytes, function)
        return held?.mayBeHeld(at: Int(address - function.lowerBound), isExact: isExact) ?? true
    }

    /// The starts of the functions that use a `Mutex`, with where it may be held; nil if that is unknown.
    var users: [(start: UInt64, held: HeldLocks?)] {
        (0..<(starts?.count ?? 0)).compactMap { index in
            guard let start = starts?[index], let function = extent(ofFunctionAt: start) else { return nil }
            let bytes = Self.bytes(function, of: code, in: file)
            return has(.takes, bytes, function) ? (start, locks(heldIn: bytes, function)) : nil
        }
    }

    private func locks(heldIn bytes: [UInt8], _ function: Range<UInt64>) -> HeldLocks? {
        HeldLocks(
            in: bytes,
            effectOfCall: { self.effect(ofCall: function.lowerBound &+ UInt64(bitPattern: Int64($0))) },
            effectOfPlace: { self.functions.places[function.lowerBound &+ UInt64(bitPattern: Int64($0))] ?? .none }
        )
    }

    /// The effect of a call of a function.
    private func effect(ofCall address: UInt64) -> HeldLocks.Effect {
        functions.stubs[address] ?? (isReleaser(address) ? .releases : .none)
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
                    effectOfCall: { self.functions.stubs[address &+ UInt64(bitPattern: Int64($0))] ?? .none },
                    effectOfPlace: { self.functions.places[address &+ UInt64(bitPattern: Int64($0))] ?? .none }
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
                if functions.stubs[RelativeOperand.target(bytes, at: index + 1, of: function.lowerBound)] == effect {
                    return true
                }
            // CALL and JMP through memory that is addressed relative to the next instruction.
            case 0xff where bytes[index + 1] == 0x15 || bytes[index + 1] == 0x25:
                if functions.places[RelativeOperand.target(bytes, at: index + 2, of: function.lowerBound)] == effect {
                    return true
                }
            default: break
            }
        }
        return false
    }

    /// From the function's start to that of the next one.
    private func extent(ofFunctionAt address: UInt64) -> Range<UInt64>? {
        guard let starts else { return nil }
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

    private static func bytes(_ range: Range<UInt64>, of sections: [Section], in file: ELFFile) -> [UInt8] {
        guard
            let section = sections.first(where: {
                $0.addresses.contains(range.lowerBound) && range.upperBound <= $0.addresses.upperBound
            })
        else { return [] }
        return file.bytes(at: section.offset &+ (range.lowerBound - section.addresses.lowerBound), count: range.count)
    }
}

/// The starts of all functions of a file, in order, from the table for exceptions: even a file without symbols has it.
private struct FunctionStarts {
    /// A larger table counts as damage.
    private static let largest: UInt64 = 64 << 20

    /// The table, from its first entry on: the start of each function, relative to the table, and four bytes more.
    private let entries: [UInt8]
    private let base: UInt64
    let count: Int

    /// That of a file whose functions nobody asks for.
    init() {
        entries = []
        base = 0
        count = 0
    }

    /// Reads the table; nil if it is damaged, or not in order.
    init?(at addresses: Range<UInt64>, _ offset: UInt64, of file: ELFFile) {
        guard addresses.upperBound - addresses.lowerBound <= Self.largest else { return nil }
        let bytes = file.bytes(at: offset, count: addresses.count)
        let table = FunctionTable(at: addresses.lowerBound) { address in
            bytes.value(UInt64.self, at: Int(truncatingIfNeeded: address &- addresses.lowerBound))
        }
        guard let table else { return nil }
        entries = Array(bytes.dropFirst(Int(table.entries - addresses.lowerBound)))
        base = addresses.lowerBound
        count = min(Int(table.count), entries.count / 8)
        var last = Int32.min
        var isOrdered = true
        entries.forEach(UInt64.self, atMost: count) { entry in
            let start = Int32(truncatingIfNeeded: entry)
            isOrdered = isOrdered && last <= start
            last = start
        }
        guard isOrdered else { return nil }
    }

    subscript(index: Int) -> UInt64 {
        base &+ UInt64(bitPattern: Int64(entries.value(Int32.self, at: 8 * index) ?? 0))
    }
}
