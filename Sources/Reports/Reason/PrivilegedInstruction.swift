/// Tells instructions that only the kernel may run from others (x86-64).
///
/// The processor answers both them and an address that it does not accept with a general protection fault, without saying which. See
/// "Privileged Instructions" in volume 3 of the Intel SDM, and the opcode maps in volume 2.
package enum PrivilegedInstruction {
    /// Whether bytes begin with such an instruction.
    ///
    /// - Parameter code: The bytes from the program counter on.
    /// - Returns: False, too, when there are too few of them to tell.
    package static func begins(_ code: [UInt8]) -> Bool {
        // Prefixes, of which an instruction has few.
        let rest = code.prefix(15).drop { prefixes.contains($0) || 0x40...0x4f ~= $0 }
        guard let opcode = rest.first else { return false }
        let operands = Array(rest.dropFirst())
        switch opcode {
        // hlt, cli, sti; in and out, which a process may have been given.
        case 0xf4, 0xfa, 0xfb, 0xe4...0xe7, 0xec...0xef, 0x6c...0x6f: return true
        // int n: the kernel lets a program use the gates of breakpoint, overflow and system call.
        case 0xcd: return operands.first.map { ![0x03, 0x04, 0x80].contains($0) } ?? false
        case 0x0f: return isPrivileged(afterEscape: operands)
        default: return false
        }
    }

    /// Operand and address size, repetition, segments.
    private static let prefixes: Set<UInt8> = [0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65]

    /// Opcodes of two bytes, by the second and what follows it.
    private static func isPrivileged(afterEscape bytes: [UInt8]) -> Bool {
        guard let opcode = bytes.first else { return false }
        let operand = bytes.dropFirst().first
        let field = operand.map { $0 >> 3 & 7 }
        switch opcode {
        // lldt and ltr
        case 0x00: return field == 2 || field == 3
        // lgdt, lidt, lmsw, invlpg; xsetbv, swapgs
        case 0x01:
            guard let operand, let field else { return false }
            return operand < 0xc0 ? [2, 3, 6, 7].contains(field) : field == 6 || operand == 0xd1 || operand == 0xf8
        // clts, sysret, invd, wbinvd; moves from and to control and debug registers; wrmsr, rdmsr, rdpmc, sysexit
        case 0x06...0x09, 0x20...0x23, 0x30, 0x32, 0x33, 0x35: return true
        default: return false
        }
    }
}

extension CrashReport.Fault {
    /// Whether the processor refused an instruction that only the kernel may run, rather than an address.
    ///
    /// - Parameter place: The program counter.
    /// - Returns: False, too, when the instruction is not known.
    package func isOfPrivilegedInstruction(at place: HexAddress?) -> Bool {
        guard code.name == "SI_KERNEL", signal.name == "SIGSEGV", let instructions, let place = place?.rawValue,
            place >= instructions.address.rawValue
        else { return false }
        let before = Int(clamping: place - instructions.address.rawValue)
        guard before < 64 else { return false }
        return PrivilegedInstruction.begins(String(instructions.bytes.dropFirst(2 * before).prefix(30)).hexBytes ?? [])
    }
}

extension String {
    /// The bytes that it has two hexadecimal digits for each of; nil for any other text.
    package var hexBytes: [UInt8]? {
        let digits = utf8.map { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count % 2 == 0, !digits.contains(nil) else { return nil }
        let values = digits.compactMap(\.self)
        return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] * 16 + values[$0 + 1]) }
    }
}
