/// The 32 digits of a report's identifier as two numbers: a fifth of its memory, and compared in a nanosecond.
struct PackedID: Hashable, Comparable, Sendable {
    var high: UInt64
    var low: UInt64

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    init(_ id: ReportID) {
        // An identifier has 32 digits and nothing else.
        self = PackedID(digits: id.rawValue.utf8) ?? PackedID(high: 0, low: 0)
    }

    /// Takes 32 lowercase hexadecimal digits; nil for anything else.
    init?(digits: some Collection<UInt8>) {
        guard digits.count == ReportID.length else { return nil }
        var halves: (UInt64, UInt64) = (0, 0)
        // No digit has one of the upper bits: one look at all of them together.
        var all: UInt8 = 0
        for digit in digits {
            let value = Self.values[Int(digit)]
            all |= value
            halves.0 = halves.0 << 4 | halves.1 >> 60
            halves.1 = halves.1 << 4 | UInt64(value & 0xf)
        }
        guard all & 0xf0 == 0 else { return nil }
        (high, low) = halves
    }

    /// What each byte is worth as a digit; 255 for what is none.
    private static let values: [UInt8] = (0...255).map { byte in
        switch byte {
        case 48...57: UInt8(byte - 48)
        case 97...102: UInt8(byte - 87)
        default: 255
        }
    }

    /// The smallest identifier of a time, to the millisecond.
    init(time: Timestamp) {
        high = UInt64(time.microsecondsSinceEpoch / 1000) << 16
        low = 0
    }

    /// The time that the first 12 digits say.
    var time: Timestamp { Timestamp(microsecondsSinceEpoch: Int64(high >> 16) * 1000) }

    /// All identifiers that begin with some digits; nil if none can, and for no digits at all.
    static func range(prefix: String) -> ClosedRange<PackedID>? {
        let digits = Array(prefix.utf8)
        guard !digits.isEmpty, digits.count <= ReportID.length else { return nil }
        let missing = ReportID.length - digits.count
        guard let lowest = PackedID(digits: digits + [UInt8](repeating: UInt8(ascii: "0"), count: missing)),
            let highest = PackedID(digits: digits + [UInt8](repeating: UInt8(ascii: "f"), count: missing))
        else { return nil }
        return lowest...highest
    }

    /// The identifier.
    var reportID: ReportID {
        let text = unsafe String(unsafeUninitializedCapacity: ReportID.length) { buffer in
            for index in 0..<16 {
                let shift = UInt64(60 - 4 * index)
                unsafe buffer[index] = Self.digit(high >> shift)
                unsafe buffer[index + 16] = Self.digit(low >> shift)
            }
            return ReportID.length
        }
        return ReportID(digits: text)
    }

    private static func digit(_ value: UInt64) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: value & 0xf)
        return value < 10 ? UInt8(ascii: "0") &+ value : UInt8(ascii: "a") &+ value &- 10
    }

    static func < (left: PackedID, right: PackedID) -> Bool {
        left.high != right.high ? left.high < right.high : left.low < right.low
    }
}
