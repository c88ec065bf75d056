import CDisassembler
import CrashReports
import ReportText

/// Turns bytes into instructions where libcapstone is installed.
enum Disassembler {
    private static let most = 8

    /// Gives the first instructions; nil without the library, and for bytes that are none.
    static func instructions(_ bytes: [UInt8], at address: HexAddress) -> [ReportText.Instruction]? {
        var found = [hf_instruction](repeating: hf_instruction(), count: most)
        let count = unsafe bytes.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return 0 }
            return unsafe hf_disassemble(start, bytes.count, address.rawValue, &found, most)
        }
        guard count > 0 else { return nil }
        return found.prefix(count).map { instruction in
            let text = unsafe withUnsafeBytes(of: instruction.text) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            return (HexAddress(instruction.address), text)
        }
    }
}
