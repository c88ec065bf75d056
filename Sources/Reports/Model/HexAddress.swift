internal import LinuxSystem

/// An address in the process that faulted, written as `"0x…"` in JSON.
///
/// Intentionally not a pointer: what it names is not in this process, or no longer there.
public struct HexAddress: Sendable, Hashable, Comparable {
    /// The address.
    public let rawValue: UInt64

    /// Makes an address from a number.
    ///
    /// - Parameter rawValue: The address.
    package init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Reads an address from text.
    ///
    /// - Parameter text: `0x` and 1 to 16 hexadecimal digits; any other text makes `nil`.
    package init?(_ text: String) {
        // `UInt64(_:radix:)` would take a sign.
        guard text.hasPrefix("0x"), let digit = text.dropFirst(2).first, digit.isHexDigit,
            let value = UInt64(text.dropFirst(2), radix: 16)
        else { return nil }
        rawValue = value
    }

    /// Tells whether one address lies below another.
    ///
    /// - Parameters:
    ///   - left: An address.
    ///   - right: Another address.
    /// - Returns: Whether the first is the lower one.
    public static func < (left: HexAddress, right: HexAddress) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension HexAddress: TextCoded {
    static let form = "an address of the form 0x…"

    /// The address as `0x` and lowercase digits, without leading zeros.
    public var description: String { "0x" + String(rawValue, radix: 16) }

    /// The address as `0x` and 16 digits, so that a column of them lines up.
    package var padded: String { "0x" + HexDigits.text(rawValue, count: 16) }
}
