/// One machine instruction: its length, and where the processor goes on.
///
/// Knows the encodings of 64-bit mode that compilers emit for user code (Intel SDM, volume 2, "Instruction Format" and appendix A, "Opcode
/// Map"). It ignores registers, and the effects of most instructions.
struct Instruction {
    /// Where the processor goes on.
    enum Flow: Equatable {
        /// At the next instruction.
        case next
        /// At another place, by its offset from the start of the code.
        case jump(Int)
        /// At the next instruction, or at another place.
        case branch(Int)
        /// At the next instruction, when the called function has returned.
        case call(Int)
        /// The same, with the function's address in memory at this offset.
        case callThrough(Int)
        /// The same, with an unknown address.
        case callAnywhere
        /// At the address in memory at this offset.
        case jumpThrough(Int)
        /// At an unknown address.
        case jumpAnywhere
        /// Nowhere in this function: it returns or traps.
        case end
    }

    /// How many bytes it has.
    var count: Int
    /// Where the processor goes on.
    var flow: Flow
    /// Whether it is a `cmpxchg` of memory with a lock prefix.
    var isLockedExchange: Bool

    /// Decodes the instruction at an offset of some code; nil if it is unknown or cut off.
    init?(_ code: [UInt8], at start: Int) {
        var reader = Reader(code: code, place: start)
        guard let read = reader.instruction(), reader.place <= code.count else { return nil }
        count = reader.place - start
        flow = read
        isLockedExchange = reader.hasLock && reader.isExchange
    }
}

extension Instruction {
    /// What follows an opcode.
    private enum Form {
        case none, modRM, modRM8, modRM32, immediate8, immediate16, immediate32, invalid
    }

    /// Goes through the bytes of one instruction.
    private struct Reader {
        let code: [UInt8]
        var place: Int
        var hasLock = false
        var isExchange = false
        private var isShort = false
        private var isWide = false
        private var operand: UInt8 = 0
        /// The place of the displacement of an operand that is relative to the instruction pointer.
        private var relative: Int?

        init(code: [UInt8], place: Int) {
            self.code = code
            self.place = place
        }

        /// The next byte; 0 beyond the end, which the caller notices by the place.
        private mutating func byte() -> UInt8 {
            defer { place += 1 }
            return place < code.count ? code[place] : 0
        }

        private mutating func number32() -> Int {
            let bytes = (0..<4).map { _ in UInt32(byte()) }
            return Int(Int32(bitPattern: bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24))
        }

        /// Decodes all of it; nil if it is unknown.
        mutating func instruction() -> Flow? {
            var opcode = byte()
            prefixes: while true {
                switch opcode {
                case 0x66: isShort = true
                case 0xf0: hasLock = true
                case 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67, 0xf2, 0xf3: break
                default: break prefixes
                }
                // No instruction has more than 15 bytes. This ends loops over damaged code.
                guard place < code.count else { return nil }
                opcode = byte()
            }
            if opcode & 0xf0 == 0x40 {
                isWide = opcode & 8 != 0
                opcode = byte()
            }
            switch opcode {
            case 0x0f: return twoByteInstruction()
            case 0xc5:
                _ = byte()
                return vectorInstruction(map: 1)
            case 0xc4:
                let map = byte() & 0x1f
                _ = byte()
                return vectorInstruction(map: map)
            case 0x62:
                let map = byte() & 7
                place += 2
                return vectorInstruction(map: map)
            default: return oneByteInstruction(opcode)
            }
        }

        private mutating func oneByteInstruction(_ opcode: UInt8) -> Flow? {
            switch opcode {
            case 0x70...0x7f, 0xe0...0xe3:
                let offset = Int(Int8(bitPattern: byte()))
                return .branch(place + offset)
            case 0xeb:
                let offset = Int(Int8(bitPattern: byte()))
                return .jump(place + offset)
            case 0xe8, 0xe9:
                guard !isShort else { return nil }
                let offset = number32()
                return opcode == 0xe8 ? .call(place + offset) : .jump(place + offset)
            case 0xff: return indirect()
            case 0xa0...0xa3:
                place += 8
                return .next
            case 0xb8...0xbf:
                place += isWide ? 8 : isShort ? 2 : 4
                return .next
            case 0xc8:
                place += 3
                return .next
            case 0xf6, 0xf7:
                readModRM()
                if operand >> 3 & 7 < 2 { place += opcode == 0xf6 ? 1 : isShort ? 2 : 4 }
                return .next
            case 0xc2, 0xca:
                place += 2
                return .end
            case 0xc3, 0xcb, 0xcf, 0xf4: return .end
            default: return read(Self.form(opcode)) ? .next : nil
            }
        }

        /// Group 5: calls and jumps through a register or memory, among others.
        private mutating func indirect() -> Flow {
            readModRM()
            let target = relative.map { place + displacement(at: $0) }
            switch operand >> 3 & 7 {
            case 2: return target.map { .callThrough($0) } ?? .callAnywhere
            case 4: return target.map { .jumpThrough($0) } ?? .jumpAnywhere
            case 3, 5: return .jumpAnywhere
            default: return .next
            }
        }

        private func displacement(at place: Int) -> Int {
            var reader = Reader(code: code, place: place)
            return reader.number32()
        }

        private mutating func twoByteInstruction() -> Flow? {
            let opcode = byte()
            switch opcode {
            case 0x0b: return .end
            case 0x80...0x8f:
                guard !isShort else { return nil }
                let offset = number32()
                return .branch(place + offset)
            case 0xb1:
                readModRM()
                isExchange = operand >> 6 != 3
                return .next
            case 0x38:
                _ = byte()
                return read(.modRM) ? .next : nil
            case 0x3a:
                _ = byte()
                return read(.modRM8) ? .next : nil
            default: return read(Self.twoByteForm(opcode)) ? .next : nil
            }
        }

        private mutating func vectorInstruction(map: UInt8) -> Flow? {
            let opcode = byte()
            switch map {
            case 1 where opcode == 0x77: return .next
            case 1: return read(Self.twoByteForm(opcode) == .modRM8 ? .modRM8 : .modRM) ? .next : nil
            case 2, 5, 6: return read(.modRM) ? .next : nil
            case 3: return read(.modRM8) ? .next : nil
            default: return nil
            }
        }

        private mutating func read(_ form: Form) -> Bool {
            switch form {
            case .none: break
            case .modRM: readModRM()
            case .modRM8:
                readModRM()
                place += 1
            case .modRM32:
                readModRM()
                place += isShort && !isWide ? 2 : 4
            case .immediate8: place += 1
            case .immediate16: place += 2
            case .immediate32: place += isShort && !isWide ? 2 : 4
            case .invalid: return false
            }
            return true
        }

        /// Reads an operand in a register or in memory.
        private mutating func readModRM() {
            operand = byte()
            let (mode, register) = (operand >> 6, operand & 7)
            guard mode != 3 else { return }
            let base = register == 4 ? byte() & 7 : register
            switch mode {
            case 0 where register == 5:
                relative = place
                place += 4
            case 0 where base == 5: place += 4
            case 1: place += 1
            case 2: place += 4
            default: break
            }
        }

        private static func form(_ opcode: UInt8) -> Form {
            switch opcode {
            case 0x00...0x3f:
                switch opcode & 7 {
                case 0...3: .modRM
                case 4: .immediate8
                case 5: .immediate32
                default: .invalid
                }
            case 0x50...0x5f, 0x6c...0x6f, 0x90...0x99, 0x9b...0x9f, 0xa4...0xa7, 0xaa...0xaf, 0xc9, 0xcc, 0xd7,
                0xec...0xef, 0xf1, 0xf5, 0xf8...0xfd:
                .none
            case 0x63, 0x84...0x8f, 0xd0...0xd3, 0xd8...0xdf, 0xfe: .modRM
            case 0x68, 0xa9: .immediate32
            case 0x69, 0x81, 0xc7: .modRM32
            case 0x6a, 0xa8, 0xb0...0xb7, 0xcd, 0xe4...0xe7: .immediate8
            case 0x6b, 0x80, 0x83, 0xc0, 0xc1, 0xc6: .modRM8
            default: .invalid
            }
        }

        private static func twoByteForm(_ opcode: UInt8) -> Form {
            switch opcode {
            case 0x05...0x09, 0x0e, 0x30...0x37, 0x77, 0xa0...0xa2, 0xa8...0xaa, 0xc8...0xcf: .none
            case 0x00...0x03, 0x0d, 0x10...0x23, 0x28...0x2f, 0x40...0x6f, 0x74...0x76, 0x78...0x7f, 0x90...0x9f, 0xa3,
                0xa5, 0xab, 0xad...0xb9, 0xbb...0xc1, 0xc3, 0xc7, 0xd0...0xff:
                .modRM
            case 0x0f, 0x70...0x73, 0xa4, 0xac, 0xba, 0xc2, 0xc4...0xc6: .modRM8
            default: .invalid
            }
        }
    }
}
