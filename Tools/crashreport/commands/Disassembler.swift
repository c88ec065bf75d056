import CrashReports
import Glibc
import ReportText

/// Turns bytes into instructions where libcapstone is installed: it is looked for at run time, once.
enum Disassembler {
    private static let most = 8
    /// `capstone.h`: CS_ARCH_X86, CS_MODE_64.
    private static let (architecture, mode): (CInt, CInt) = (3, 8)

    private typealias Version = @convention(c) (UnsafeMutablePointer<CInt>, UnsafeMutablePointer<CInt>) -> CUnsignedInt
    private typealias Open = @convention(c) (CInt, CInt, UnsafeMutablePointer<Int>) -> CInt
    private typealias Close = @convention(c) (UnsafeMutablePointer<Int>) -> CInt
    private typealias Disassemble =
        @convention(c) (
            Int, UnsafePointer<UInt8>?, Int, UInt64, Int, UnsafeMutablePointer<UnsafeMutableRawPointer?>
        ) -> Int
    private typealias Free = @convention(c) (UnsafeMutableRawPointer, Int) -> Void

    /// The library, which is never unloaded; nil without one that lays out its instructions as is known here.
    private static let library: (open: Open, close: Close, disassemble: Disassemble, free: Free, codeBytes: Int)? = {
        let file = unsafe dlopen("libcapstone.so.5", RTLD_NOW) ?? dlopen("libcapstone.so.4", RTLD_NOW)
        guard let file = unsafe file else { return nil }
        func function<Function>(_ name: String, _ type: Function.Type) -> Function? {
            unsafe dlsym(file, name).map { unsafe unsafeBitCast($0, to: type) }
        }
        guard let version = unsafe function("cs_version", Version.self),
            let open = unsafe function("cs_open", Open.self),
            let close = unsafe function("cs_close", Close.self), let free = unsafe function("cs_free", Free.self),
            let disassemble = unsafe function("cs_disasm", Disassemble.self)
        else { return nil }
        var (major, minor): (CInt, CInt) = (0, 0)
        _ = unsafe version(&major, &minor)
        // `cs_insn` of version 4 has room for 16 bytes of code, that of version 5 for 24.
        return unsafe [4: 16, 5: 24][major].map { unsafe (open, close, disassemble, free, $0) }
    }()

    /// Gives the first instructions; nil without the library, and for bytes that are none.
    static func instructions(_ bytes: [UInt8], at address: HexAddress) -> [ReportText.Instruction]? {
        var handle = 0
        guard let library = unsafe library, unsafe library.open(architecture, mode, &handle) == 0 else { return nil }
        defer { _ = unsafe library.close(&handle) }
        var found: UnsafeMutableRawPointer?
        let count = unsafe library.disassemble(handle, bytes, bytes.count, address.rawValue, most, &found)
        guard let found = unsafe found, count > 0 else { return nil }
        defer { unsafe library.free(found, count) }
        // Number, address at 8, size at 16, code at 18, then mnemonic and operands, and a pointer at the end.
        let text = unsafe 18 + library.codeBytes
        let stride = (text + 32 + 160 + 7) / 8 * 8 + 8
        return (0..<min(count, most)).map { index in
            let instruction = unsafe UnsafeRawBufferPointer(start: found + index * stride, count: stride)
            func string(_ range: Range<Int>) -> String {
                unsafe String(decoding: instruction[range].prefix { $0 != 0 }, as: UTF8.self)
            }
            let (mnemonic, operands) = (string(text..<text + 32), string(text + 32..<text + 192))
            let address = unsafe instruction.load(fromByteOffset: 8, as: UInt64.self)
            return (HexAddress(address), operands.isEmpty ? mnemonic : "\(mnemonic) \(operands)")
        }
    }
}
