/// How to find the registers of a caller from those of the called function: one row of a call frame table (DWARF 5, 6.4.1).
///
/// Only the rows that compilers write for ordinary functions: an address from a register, and callee-saved registers on the stack. The
/// numbers are those of the System V ABI, AMD64 supplement, figure 3.36.
struct CallFrameRow {
    /// Numbers of registers.
    enum Register {
        static let rbx = 3
        static let rbp = 6
        static let stackPointer = 7
        static let r12 = 12
        static let r13 = 13
        static let r14 = 14
        static let r15 = 15
        static let returnAddress = 16
        static let count = 17

        /// Whether a function saves this register for its caller; these have places in a row.
        static func isCalleeSaved(_ number: Int) -> Bool {
            number == rbx || number == rbp || (r12...r15).contains(number)
        }
    }

    /// The register still has the caller's value.
    static let unchanged = Int32.max

    /// In place of a base: nobody called this function (its return address is undefined, as the ABI has it for `_start`).
    static let outermost = UInt8.max

    /// The address that was looked up; 0 for an empty place of a cache.
    var address: UInt64 = 0
    /// The base register of the canonical frame address.
    var base: UInt8 = 0
    /// The offset from the base.
    var offset: Int32 = 0
    /// Where the return address is, relative to the canonical frame address.
    var returnAddress: Int32 = -8
    /// Where the caller's registers are, relative to the same, or `unchanged`.
    var rbx = CallFrameRow.unchanged
    var rbp = CallFrameRow.unchanged
    var r12 = CallFrameRow.unchanged
    var r13 = CallFrameRow.unchanged
    var r14 = CallFrameRow.unchanged
    var r15 = CallFrameRow.unchanged

    /// Replaces the registers of the called function by those of its caller.
    ///
    /// Returns false, with nothing changed, if memory is missing.
    func apply(to registers: UnsafeMutablePointer<UInt64>, reading memory: inout MemoryWindow) -> Bool {
        let frame = unsafe registers[Int(base)] &+ UInt64(bitPattern: Int64(offset))
        guard let caller = memory.word(at: frame &+ UInt64(bitPattern: Int64(returnAddress))) else { return false }
        // A frame that is its own caller would have no end.
        guard unsafe caller != registers[Register.returnAddress] || frame != registers[Register.stackPointer] else {
            return false
        }
        guard let rbx = unsafe Self.value(rbx, registers[3], frame, &memory),
            let rbp = unsafe Self.value(rbp, registers[6], frame, &memory),
            let r12 = unsafe Self.value(r12, registers[12], frame, &memory),
            let r13 = unsafe Self.value(r13, registers[13], frame, &memory),
            let r14 = unsafe Self.value(r14, registers[14], frame, &memory),
            let r15 = unsafe Self.value(r15, registers[15], frame, &memory)
        else { return false }
        unsafe registers[3] = rbx
        unsafe registers[6] = rbp
        unsafe registers[12] = r12
        unsafe registers[13] = r13
        unsafe registers[14] = r14
        unsafe registers[15] = r15
        unsafe registers[Register.stackPointer] = frame
        unsafe registers[Register.returnAddress] = caller
        return true
    }

    private static func value(
        _ offset: Int32,
        _ current: UInt64,
        _ frame: UInt64,
        _ memory: inout MemoryWindow
    ) -> UInt64? {
        offset == unchanged ? current : memory.word(at: frame &+ UInt64(bitPattern: Int64(offset)))
    }
}
