/// Runs the instructions of a call frame table up to an address (DWARF 5, 6.4.2; the LSB for the format of `.eh_frame`).
///
/// Whatever it does not know, or finds damaged, ends in false: then libunwind is asked.
struct CallFrameProgram {
    /// What the description that several functions share says (a CIE).
    struct Common {
        var codeAlignment: UInt64 = 1
        var dataAlignment: Int64 = -8
        /// How addresses are written.
        var encoding: UInt8 = 0
        var hasAugmentation = false
    }

    private let common: Common
    private let rules: CallFrameRules
    /// The address that a row is wanted for.
    private let wanted: UInt64
    private var location: UInt64

    init(_ common: Common, _ rules: CallFrameRules, from location: UInt64, to wanted: UInt64) {
        self.common = common
        self.rules = rules
        self.location = location
        self.wanted = wanted
    }

    /// Runs instructions until they are beyond the address; false where that failed.
    mutating func run(_ cursor: inout CallFrameCursor) -> Bool {
        while !cursor.isAtEnd, location <= wanted {
            let instruction = cursor.byte()
            guard perform(instruction, &cursor) else { return false }
        }
        return !cursor.hasFailed
    }

    private mutating func perform(_ instruction: UInt8, _ cursor: inout CallFrameCursor) -> Bool {
        let operand = UInt64(instruction & 0x3f)
        switch instruction >> 6 {
        case 1: return advance(operand)
        case 2: return save(operand, at: Int64(bitPattern: cursor.unsignedLEB()))
        case 3:
            rules.restore(operand)
            return true
        default: return performExtended(instruction, &cursor)
        }
    }

    private mutating func performExtended(_ instruction: UInt8, _ cursor: inout CallFrameCursor) -> Bool {
        switch instruction {
        case 0x00: return true  // DW_CFA_nop
        case 0x02: return advance(UInt64(cursor.byte()))
        case 0x03: return advance(UInt64(cursor.half()))
        case 0x04: return advance(UInt64(cursor.single()))
        case 0x05: return save(cursor.unsignedLEB(), at: Int64(bitPattern: cursor.unsignedLEB()))
        case 0x06: rules.restore(cursor.unsignedLEB())
        case 0x07: rules[cursor.unsignedLEB()] = CallFrameRules.undefined
        case 0x08: rules[cursor.unsignedLEB()] = CallFrameRow.unchanged
        case 0x0a: return rules.remember()
        case 0x0b: return rules.recall()
        case 0x0c:
            setBase(cursor.unsignedLEB())
            return setOffset(Int64(bitPattern: cursor.unsignedLEB()))
        case 0x0d: setBase(cursor.unsignedLEB())
        case 0x0e: return setOffset(Int64(bitPattern: cursor.unsignedLEB()))
        case 0x0f:  // DW_CFA_def_cfa_expression
            rules.base = CallFrameRules.unsupported
            cursor.skip(cursor.unsignedLEB())
        case 0x10, 0x16:  // DW_CFA_expression, DW_CFA_val_expression
            rules[cursor.unsignedLEB()] = CallFrameRules.unsupported
            cursor.skip(cursor.unsignedLEB())
        case 0x11: return save(cursor.unsignedLEB(), at: cursor.signedLEB())
        case 0x12:
            setBase(cursor.unsignedLEB())
            return setOffset(cursor.signedLEB().multipliedReportingOverflow(by: common.dataAlignment).partialValue)
        case 0x13:
            return setOffset(cursor.signedLEB().multipliedReportingOverflow(by: common.dataAlignment).partialValue)
        case 0x2e: _ = cursor.unsignedLEB()  // DW_CFA_GNU_args_size
        default: return false
        }
        return true
    }

    private mutating func advance(_ count: UInt64) -> Bool {
        let (distance, overflow) = count.multipliedReportingOverflow(by: common.codeAlignment)
        let (next, wrapped) = location.addingReportingOverflow(distance)
        location = next
        return !overflow && !wrapped
    }

    private func save(_ register: UInt64, at factor: Int64) -> Bool {
        let (offset, overflow) = factor.multipliedReportingOverflow(by: common.dataAlignment)
        guard !overflow, let offset = Int32(exactly: offset), offset < CallFrameRules.unsupported else { return false }
        rules[register] = offset
        return true
    }

    private func setBase(_ register: UInt64) {
        rules.base = register < 16 ? Int32(register) : CallFrameRules.unsupported
    }

    private func setOffset(_ offset: Int64) -> Bool {
        guard let offset = Int32(exactly: offset) else { return false }
        rules.offset = offset
        return true
    }
}
