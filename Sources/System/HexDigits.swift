/// Bytes and numbers as hexadecimal digits, in lowercase.
public enum HexDigits {
    /// A number with leading zeros, so that it has so many digits at least.
    public static func text(_ number: UInt64, count: Int) -> String {
        // Not `String(_:radix:)`, nor `joined()` below: a type or table that is made at run time is a hundredth of a start.
        let needed = max(count, (UInt64.bitWidth - number.leadingZeroBitCount + 3) / 4, 1)
        var text = ""
        text.reserveCapacity(needed)
        for place in (0..<needed).reversed() {
            let digit = place < 16 ? UInt8(truncatingIfNeeded: number >> UInt64(4 * place)) & 15 : 0
            text.unicodeScalars.append(Unicode.Scalar(digit + UInt8(ascii: digit < 10 ? "0" : "W")))
        }
        return text
    }

    /// Two digits for each byte.
    public static func text(_ bytes: [UInt8]) -> String {
        var digits = ""
        for byte in bytes { digits += text(UInt64(byte), count: 2) }
        return digits
    }
}
