internal import LinuxSystem

/// The name of a report: 32 lowercase hexadecimal digits that sort by time.
///
/// The first 12 digits are the Unix time in milliseconds, the other 20 tell apart. Because nothing else gets in, an
/// identifier is safe as a file name.
public struct ReportID: RawRepresentable, Codable, Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The 32 digits.
    public let rawValue: String

    /// How many digits an identifier has.
    package static let length = 32

    /// Takes the text of an identifier.
    ///
    /// - Parameter rawValue: 32 lowercase hexadecimal digits; any other text makes `nil`.
    public init?(rawValue: String) {
        guard rawValue.utf8.count == Self.length, rawValue.utf8.allSatisfy(Self.isDigit) else { return nil }
        self.rawValue = rawValue
    }

    /// Takes what is known to be 32 such digits.
    init(digits: String) {
        rawValue = digits
    }

    /// Makes a new identifier.
    ///
    /// - Parameter time: When the fault happened.
    package init(time: Timestamp) {
        var generator = SystemRandomNumberGenerator()
        self.init(time: time, using: &generator)
    }

    /// Makes a new identifier from a given source of randomness.
    ///
    /// - Parameters:
    ///   - time: When the fault happened.
    ///   - generator: Where the random digits come from.
    package init(time: Timestamp, using generator: inout some RandomNumberGenerator) {
        let random = UInt64.random(in: .min ... .max, using: &generator)
        let more = UInt64.random(in: 0...0xffff, using: &generator)
        rawValue = Self.timeDigits(time) + HexDigits.text(random, count: 16) + HexDigits.text(more, count: 4)
    }

    /// The digits.
    public var description: String { rawValue }

    /// Tells whether one report is older than another, to the millisecond.
    ///
    /// - Parameters:
    ///   - left: An identifier.
    ///   - right: Another identifier.
    /// - Returns: Whether the first sorts before the second.
    public static func < (left: ReportID, right: ReportID) -> Bool {
        left.rawValue < right.rawValue
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }

    /// What the identifiers of a millisecond begin with.
    static func timeDigits(_ time: Timestamp) -> String {
        // 48 bits of milliseconds last until the year 10889.
        HexDigits.text(UInt64(time.microsecondsSinceEpoch / 1000), count: 12)
    }
}
