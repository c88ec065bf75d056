/// An address in the process that faulted, written as `"0x…"` in JSON.
///
/// Intentionally not a pointer: what it names is not in this process, or no longer there.
public struct HexAddress: RawRepresentable, Sendable, Hashable, Comparable {
    /// The address.
    public let rawValue: UInt64

    /// Makes an address from a number.
    ///
    /// - Parameter rawValue: The address.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Makes an address from a number.
    ///
    /// - Parameter rawValue: The address.
    package init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Reads an address from text.
    ///
    /// - Parameter text: `0x` and 1 to 16 hexadecimal digits; any other text makes `nil`.
    public init?(_ text: String) {
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

extension HexAddress: CustomStringConvertible {
    /// The address as `0x` and lowercase digits, without leading zeros.
    public var description: String { "0x" + String(rawValue, radix: 16) }

    /// The address as `0x` and 16 digits, so that a column of them lines up.
    public var padded: String {
        let digits = String(rawValue, radix: 16)
        return "0x" + String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension HexAddress: Codable {
    /// Reads an address from its text.
    ///
    /// - Parameter decoder: Gives a string.
    /// - Throws: `DecodingError` when it is not the text of an address.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let address = HexAddress(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an address of the form 0x…")
        }
        self = address
    }

    /// Writes the address as text.
    ///
    /// - Parameter encoder: Takes a string.
    /// - Throws: Errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
