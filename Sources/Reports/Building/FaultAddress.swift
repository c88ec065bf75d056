internal import Glibc

/// What a record's address is, and how it was accessed: pure reading of signal, code and registers (x86-64).
struct FaultAddress {
    private(set) var address: HexAddress?
    private(set) var access: CrashReport.Fault.Access = .none
    private(set) var kind: CrashReport.Fault.AddressKind?

    /// Page-fault error code (Intel SDM vol.
    ///
    /// 3, "Page-Fault Exceptions"): bit 1 is a write, bit 4 an instruction fetch.
    private static let writeBit: UInt64 = 1 << 1
    private static let fetchBit: UInt64 = 1 << 4
    private static let pageFault: UInt64 = 14
    private static let kernelCode = 128
    /// User space ends here with four-level page tables; addresses of the upper half belong to the kernel.
    private static let userEnd: UInt64 = 1 << 47

    init(_ record: FaultRecord) {
        let signal = CInt(clamping: record.signal)
        // Of the processor time's limit, the union has no address.
        guard record.code > 0, signal != SIGXCPU else { return }
        let isOfMemory = signal == SIGSEGV || signal == SIGBUS
        if isOfMemory { access = Self.access(record) }
        // A general protection fault comes without an address.
        if isOfMemory, record.code == Self.kernelCode {
            // Registers may hold anything where it was the instruction that was refused.
            let isPrivileged = PrivilegedInstruction.begins(record.codeBytes.from)
            kind =
                !isPrivileged && record.registers.contains { Self.isPointer($0.key) && Self.isNonCanonical($0.value) }
                ? .nonCanonical : nil
            return
        }
        address = HexAddress(record.address)
        if signal == SIGSEGV { kind = Self.kind(record, access) }
        // BUS_ADRERR
        if signal == SIGBUS, record.code == 2 { kind = .pastEndOfFile }
    }

    private static func access(_ record: FaultRecord) -> CrashReport.Fault.Access {
        guard record.registers["trapno"] == pageFault, let error = record.registers["err"] else { return .unknown }
        if error & fetchBit != 0 { return .execute }
        return error & writeBit != 0 ? .write : .read
    }

    private static func kind(
        _ record: FaultRecord,
        _ access: CrashReport.Fault.Access
    ) -> CrashReport.Fault.AddressKind? {
        if record.address < 4096 { return .noCode }
        if record.facts.contains(.stackOverflow) { return .stackGuard }
        if record.address >= userEnd { return .kernel }
        // SEGV_MAPERR
        if record.code == 1 { return .unmapped }
        switch access {
        case .write: return .readOnly
        case .execute: return .notExecutable
        default: return .inaccessible
        }
    }

    private static func isPointer(_ register: String) -> Bool {
        !["eflags", "csgsfs", "err", "trapno", "oldmask", "cr2"].contains(register)
    }

    private static func isNonCanonical(_ value: UInt64) -> Bool {
        let top = Int64(bitPattern: value) >> 47
        return top != 0 && top != -1
    }
}
