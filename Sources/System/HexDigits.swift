/// Bytes and numbers as hexadecimal digits, in lowercase.
public enum HexDigits {
    /// A number with leading zeros, so that it has so many digits at least.
    public static func text(_ number: UInt64, count: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }

    /// Two digits for each byte.
    public static func text(_ bytes: [UInt8]) -> String {
        // Not `joined()`: a type that is made at run time would be a hundredth of a start.
        var digits = ""
        for byte in bytes { digits += text(UInt64(byte), count: 2) }
        return digits
    }
}
