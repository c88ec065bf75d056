internal import Symbolication

/// Follows the thread pointer through a function's machine code, to see where it sets a guard in the thread's storage to one.
///
/// The storage of an executable lies below the thread pointer (U. Drepper, "ELF Handling For Thread-Local Storage", variant II). The
/// pointer is loaded from `%fs:0`, copied, kept on the stack, and an offset is added to it. Every byte is tried as the beginning of such an
/// instruction, as compilers and linkers write them, without decoding the code in between. A register that once held the pointer counts as
/// holding it everywhere in the function. So now and then too much is found, but nothing is missed in whatever order the code may run.
/// Therefore only the known places of guards count: an object's flag is set by the same instruction.
///
/// Allocates nothing: for the crash thread.
struct ThreadPointerFlow {
    /// A set of general registers, by their numbers in instructions.
    private typealias Registers = UInt16

    /// The stack pointer and the frame pointer.
    private static let stackRegisters: Registers = 1 << 4 | 1 << 5

    private let guards: ThreadLocalGuards
    /// Which registers may hold the thread pointer itself, and which the address of a guard.
    private var pointer: Registers = 0
    private var storage: Registers = 0
    /// Whether one of them was stored somewhere, so that a load from the stack may read it back.
    private var isPointerSpilled = false
    private var isStorageSpilled = false

    private init(_ guards: ThreadLocalGuards) {
        self.guards = guards
    }

    /// Whether machine code sets a guard to one.
    static func setsGuard(in code: UnsafeRawBufferPointer, _ guards: ThreadLocalGuards) -> Bool {
        var flow = ThreadPointerFlow(guards)
        // Until nothing new is found, because loops lead back.
        while true {
            let before = flow.known
            for index in 0..<code.count where unsafe flow.setsGuard(code, index) { return true }
            if flow.pointer | flow.storage == 0 || flow.known == before { return false }
        }
    }

    /// Looks at one place, where an instruction may begin.
    private mutating func setsGuard(_ code: UnsafeRawBufferPointer, _ start: Int) -> Bool {
        var index = start
        // The shortest of these instructions have three bytes.
        guard index + 3 <= code.count else { return false }
        let isThread = unsafe code[index] == 0x64
        if isThread { index += 1 }
        let rex = unsafe code[index] & 0xf0 == 0x40 ? code[index] : 0
        if rex != 0 { index += 1 }
        guard index + 1 < code.count else { return false }
        let opcode = unsafe code[index]
        switch opcode {
        case 0xc6:
            guard let operand = unsafe Operand(code, index + 1, rex), operand.register & 7 == 0,
                operand.end < code.count, unsafe code[operand.end] == 1
            else { return false }
            return isThread ? isGuardOfSegment(operand) : isGuard(operand)
        case 0x8b, 0x03, 0x89, 0x8d:
            // Addresses have 64 bits.
            guard rex & 8 != 0, let operand = unsafe Operand(code, index + 1, rex) else { return false }
            move(opcode, operand, isThread: isThread)
        default: break
        }
        return false
    }

    /// Whether a byte in memory may be a guard.
    private func isGuard(_ operand: Operand) -> Bool {
        guard operand.isMemory else { return false }
        if operand.uses(storage) { return !guards.isKnown || operand.displacement == 0 }
        return operand.uses(pointer) && guards.mayContain(operand.displacement)
    }

    /// Whether it may be one with the prefix of the thread's segment; then a register has the offset (the initial exec model).
    private func isGuardOfSegment(_ operand: Operand) -> Bool {
        operand.isMemory && (operand.base != 0 || guards.mayContain(operand.displacement))
    }

    /// Follows a move, an addition, or the computation of an address.
    private mutating func move(_ opcode: UInt8, _ operand: Operand, isThread: Bool) {
        let register: Registers = 1 << operand.register
        switch opcode {
        case 0x8d:
            guard operand.isMemory else { return }
            if operand.uses(storage) { storage |= register }
            guard operand.uses(pointer) else { return }
            if guards.mayContain(operand.displacement) { storage |= register }
            if operand.displacement >= 0 { pointer |= register }
        case 0x8b where isThread:
            // MOV %fs:0, register
            if operand.isThreadPointer { pointer |= register }
        case 0x03 where isThread:
            // ADD %fs:0, register, which has an offset
            if operand.isThreadPointer { storage |= register }
        case 0x8b:
            if operand.isMemory {
                guard operand.uses(Self.stackRegisters) else { return }
                if isPointerSpilled { pointer |= register }
                if isStorageSpilled { storage |= register }
            } else {
                copy(from: operand.base, to: register)
            }
        case 0x89:
            if operand.isMemory {
                if pointer & register != 0 { isPointerSpilled = true }
                if storage & register != 0 { isStorageSpilled = true }
            } else {
                copy(from: register, to: operand.base)
            }
        default: break
        }
    }

    private mutating func copy(from source: Registers, to target: Registers) {
        if pointer & source != 0 { pointer |= target }
        if storage & source != 0 { storage |= target }
    }
}

extension ThreadPointerFlow {
    /// What is known so far.
    private var known: (Registers, Registers, Bool, Bool) { (pointer, storage, isPointerSpilled, isStorageSpilled) }

    /// The operands behind an opcode: a register, and another one or a place in memory (Intel SDM, volume 2, "ModR/M and SIB Bytes").
    private struct Operand {
        let register: UInt8
        let isMemory: Bool
        /// The base register of the address, if it has one, or the other register.
        let base: Registers
        /// Whether an index register is added to it.
        let isIndexed: Bool
        let displacement: Int32
        /// The place behind the operands.
        let end: Int

        /// Whether this is the place of the thread pointer, with the prefix of the thread's segment.
        var isThreadPointer: Bool { isMemory && base == 0 && !isIndexed && displacement == 0 }

        /// Whether the address is in one of some registers, plus the displacement.
        ///
        /// Elements of arrays are no guards.
        func uses(_ registers: Registers) -> Bool { base & registers != 0 && !isIndexed }

        init?(_ code: UnsafeRawBufferPointer, _ start: Int, _ rex: UInt8) {
            var next = start + 1
            let fields = unsafe code[start]
            let mode = fields >> 6
            let low = fields & 7
            register = fields >> 3 & 7 | (rex & 4) << 1
            isMemory = mode != 3
            var base: Registers = 1 << (low | (rex & 1) << 3)
            var isIndexed = false
            var hasWord = mode == 2
            if isMemory, low == 4 {
                guard next < code.count else { return nil }
                let scaled = unsafe code[next]
                next += 1
                isIndexed = scaled >> 3 & 7 | (rex & 2) << 2 != 4
                base = 1 << (scaled & 7 | (rex & 1) << 3)
                if mode == 0, scaled & 7 == 5 {
                    base = 0
                    hasWord = true
                }
            } else if mode == 0, low == 5 {
                // Relative to the instruction pointer.
                return nil
            }
            if hasWord {
                guard next + 4 <= code.count else { return nil }
                displacement = unsafe code.loadUnaligned(fromByteOffset: next, as: Int32.self)
                next += 4
            } else if mode == 1 {
                guard next < code.count else { return nil }
                displacement = unsafe Int32(Int8(bitPattern: code[next]))
                next += 1
            } else {
                displacement = 0
            }
            self.base = base
            self.isIndexed = isIndexed
            end = next
        }
    }
}
