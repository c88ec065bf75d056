/// Rules for the registers while a call frame program runs: current ones, those of its common part, and remembered ones.
///
/// Made once, for ever: walks must not allocate. For the crash thread.
@safe
final class CallFrameRules {
    /// DW_CFA_remember_state nests; compilers do it once.
    private static let depth = 8
    private static let width = CallFrameRow.Register.count + 2
    private static let base = CallFrameRow.Register.count
    private static let offset = CallFrameRow.Register.count + 1

    /// Says of a register that it cannot be had.
    static let undefined = Int32.max - 1
    /// Says of a register that finding it takes more than a row has.
    static let unsupported = Int32.max - 2

    /// A set of rules after the other: offsets from the canonical frame address, then what that is counted from.
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

    /// Begins a program: every register is the caller's still.
    func reset() {
        for index in 0..<CallFrameRow.Register.count { unsafe current[index] = CallFrameRow.unchanged }
        unsafe current[Self.base] = Self.unsupported
        unsafe current[Self.offset] = 0
        remembered = 0
        endCommonPart()
    }

    /// The rules so far are those that registers are restored to.
    func endCommonPart() {
        unsafe initial.update(from: current, count: Self.width)
    }

    /// Where a register of the caller is.
    subscript(register: UInt64) -> Int32 {
        get { register < CallFrameRow.Register.count ? unsafe current[Int(register)] : CallFrameRow.unchanged }
        set { if register < CallFrameRow.Register.count { unsafe current[Int(register)] = newValue } }
    }

    /// What the canonical frame address is counted from: a register, or `unsupported`.
    var base: Int32 {
        get { unsafe current[Self.base] }
        set { unsafe current[Self.base] = newValue }
    }

    /// What is added to it.
    var offset: Int32 {
        get { unsafe current[Self.offset] }
        set { unsafe current[Self.offset] = newValue }
    }

    func restore(_ register: UInt64) {
        guard register < CallFrameRow.Register.count else { return }
        unsafe current[Int(register)] = unsafe initial[Int(register)]
    }

    /// Returns false when there is no room.
    func remember() -> Bool {
        guard remembered < Self.depth else { return false }
        unsafe (rules + Self.width * (2 + remembered)).update(from: current, count: Self.width)
        remembered += 1
        return true
    }

    /// Returns false when nothing was remembered.
    func recall() -> Bool {
        guard remembered > 0 else { return false }
        remembered -= 1
        unsafe current.update(from: rules + Self.width * (2 + remembered), count: Self.width)
        return true
    }

    /// The row that the rules make; nil where they say more than a row can.
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
        // Over Int: -Onone builds allocate to go through a range of any other type.
        for register in 0..<16
        where self[UInt64(register)] == Self.unsupported || self[UInt64(register)] == Self.undefined {
            return nil
        }
        // A row keeps what functions save. Another register that has a place would be needed by nobody but a strange caller.
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
