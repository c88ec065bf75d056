/// Runs the instructions of a call frame table up to an address (DWARF 5, 6.4.2; the LSB for the format of `.eh_frame`).
///
/// It returns false for anything that it does not know, or finds damaged. Then libunwind is asked.
struct CallFrameProgram {
    /// The description that several functions share (a CIE).
    struct Common {
        var codeAlignment: UInt64 = 1
        var dataAlignment: Int64 = -8
        /// How addresses are written.
        var encoding: UInt8 = 0
        var hasAugmentation = false
    }

    private let common: Common
    private let rules: CallFrameRules
    /// The address whose row is wanted.
    private let wanted: UInt64
    private var location: UInt64

    init(_ common: Common, _ rules: CallFrameRules, from location: UInt64, to wanted: UInt64) {
        self.common = common
        self.rules = rules
        self.location = location
        self.wanted = wanted
    }

    /// Runs instructions until they are beyond the address; false if that failed.
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

/// Rules for the registers while a call frame program runs: current ones, those of its common part, and remembered ones.
///
/// Made once and never freed: walks must not allocate. For the crash thread.
@safe
final class CallFrameRules {
    /// DW_CFA_remember_state nests; compilers do it once.
    private static let depth = 8
    private static let width = CallFrameRow.Register.count + 2
    private static let base = CallFrameRow.Register.count
    private static let offset = CallFrameRow.Register.count + 1

    /// The register cannot be recovered.
    static let undefined = Int32.max - 1
    /// Recovering the register takes more than a row can say.
    static let unsupported = Int32.max - 2

    /// One set of rules after the other: offsets from the canonical frame address, then its base.
    private let rules = UnsafeMutablePointer<Int32>.allocate(capacity: width * (depth + 2))
    private var remembered = 0

    private var current: UnsafeMutablePointer<Int32> { unsafe rules }
    private var initial: UnsafeMutablePointer<Int32> { unsafe rules + Self.width }

    init() {
        unsafe rules.initialize(repeating: 0, count: Self.width * (Self.depth + 2))
    }

    deinit {
        unsafe rules.deallocate()
    }

    /// Begins a program: every register still has the caller's value.
    func reset() {
        for index in 0..<CallFrameRow.Register.count { unsafe current[index] = CallFrameRow.unchanged }
        unsafe current[Self.base] = Self.unsupported
        unsafe current[Self.offset] = 0
        remembered = 0
        endCommonPart()
    }

    /// Ends the common part: registers are restored to the rules so far.
    func endCommonPart() {
        unsafe initial.update(from: current, count: Self.width)
    }

    /// Where a register of the caller is.
    subscript(register: UInt64) -> Int32 {
        get { register < CallFrameRow.Register.count ? unsafe current[Int(register)] : CallFrameRow.unchanged }
        set { if register < CallFrameRow.Register.count { unsafe current[Int(register)] = newValue } }
    }

    /// The base of the canonical frame address: a register, or `unsupported`.
    var base: Int32 {
        get { unsafe current[Self.base] }
        set { unsafe current[Self.base] = newValue }
    }

    /// The offset from the base.
    var offset: Int32 {
        get { unsafe current[Self.offset] }
        set { unsafe current[Self.offset] = newValue }
    }

    func restore(_ register: UInt64) {
        guard register < CallFrameRow.Register.count else { return }
        unsafe current[Int(register)] = unsafe initial[Int(register)]
    }

    /// Returns false if there is no room.
    func remember() -> Bool {
        guard remembered < Self.depth else { return false }
        unsafe (rules + Self.width * (2 + remembered)).update(from: current, count: Self.width)
        remembered += 1
        return true
    }

    /// Returns false if nothing was remembered.
    func recall() -> Bool {
        guard remembered > 0 else { return false }
        remembered -= 1
        unsafe current.update(from: rules + Self.width * (2 + remembered), count: Self.width)
        return true
    }

    /// The row that the rules make; nil if they say more than a row can.
    func row(at address: UInt64) -> CallFrameRow? {
        if self[16] == Self.undefined {
            var row = CallFrameRow()
            row.address = address
            row.base = CallFrameRow.outermost
            return row
        }
        guard base >= 0, base < 16 else { return nil }
        let place = self[16]
        guard place < Self.unsupported else { return nil }
        // Over Int: in -Onone builds, going through a range of any other type allocates.
        for register in 0..<16
        where self[UInt64(register)] == Self.unsupported || self[UInt64(register)] == Self.undefined {
            return nil
        }
        // A row has the registers that functions save. Only a strange caller would need another one.
        for register in 0..<16
        where !CallFrameRow.Register.isCalleeSaved(register) && self[UInt64(register)] != CallFrameRow.unchanged {
            return nil
        }
        var row = CallFrameRow()
        row.address = address
        row.base = UInt8(base)
        row.offset = offset
        row.returnAddress = place
        row.rbx = self[3]
        row.rbp = self[6]
        row.r12 = self[12]
        row.r13 = self[13]
        row.r14 = self[14]
        row.r15 = self[15]
        return row
    }
}

/// A place in a call frame table, from which numbers are read one after the other.
///
/// After the first missing one, all are 0.
struct CallFrameCursor {
    private let walker: StackWalker
    /// Where the next number is.
    private(set) var address: UInt64
    private(set) var end: UInt64
    /// Whether a number was missing, so that nothing that was read counts.
    private(set) var hasFailed = false

    init(in walker: StackWalker, from address: UInt64, to end: UInt64) {
        self.walker = walker
        self.address = address
        self.end = end
    }

    /// Whether there is more.
    var isAtEnd: Bool { hasFailed || address >= end }

    /// Limits reading to a part that begins with its own length.
    mutating func limit(to count: UInt64) {
        guard address <= end, count <= end - address else { return fail() }
        end = address + count
    }

    mutating func skip(_ count: UInt64) {
        guard address <= end, count <= end - address else { return fail() }
        address += count
    }

    mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: word(of: 1)) }

    mutating func half() -> UInt16 { UInt16(truncatingIfNeeded: word(of: 2)) }

    mutating func single() -> UInt32 { UInt32(truncatingIfNeeded: word(of: 4)) }

    /// DWARF 5, 7.6: seven bits a byte, the lowest first.
    mutating func unsignedLEB() -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = byte()
            if shift < 64 { value |= UInt64(byte & 0x7f) << shift }
            shift += 7
            if byte & 0x80 == 0 { return value }
        }
    }

    mutating func signedLEB() -> Int64 {
        var value: Int64 = 0
        var shift: Int64 = 0
        while true {
            let byte = byte()
            if shift < 64 { value |= Int64(byte & 0x7f) << shift }
            shift += 7
            guard byte & 0x80 == 0 else { continue }
            if byte & 0x40 != 0, shift < 64 { value |= -1 << shift }
            return value
        }
    }

    private mutating func word(of count: UInt64) -> UInt64 {
        guard !hasFailed, address < end, end - address >= count, let word = walker.load(address) else {
            fail()
            return 0
        }
        address += count
        return word
    }

    private mutating func fail() {
        hasFailed = true
    }
}
