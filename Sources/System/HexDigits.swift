/// Bytes as hexadecimal digits.
public enum HexDigits {
    /// Lowercase, two for each byte.
    public static func text(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
