/// Bytes and numbers as hexadecimal digits, in lowercase.
public enum HexDigits {
    /// A number with leading zeros, so that it has so many digits at least.
    public static func text(_ number: UInt64, count: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }

    /// Two digits for each byte.
    public static func text(_ bytes: [UInt8]) -> String { bytes.map { text(UInt64($0), count: 2) }.joined() }
}
