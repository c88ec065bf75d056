/// The text form, `2026-11-21T06:40:12.123456Z`: RFC 3339 with six decimals, always UTC, so that it sorts as text.
extension Timestamp: CustomStringConvertible {
    /// The time as `2026-11-21T06:40:12.123456Z`.
    public var description: String {
        let micros = microsecondsSinceEpoch % 1_000_000
        return "\(date)T\(clock).\(Self.digits(micros, 6))Z"
    }

    /// The time as `2026-11-21 06:40:12`, for people; it is UTC as well.
    public var brief: String { "\(date) \(clock)" }

    /// Reads a time from its text.
    ///
    /// - Parameter text: Of the form `2026-11-21T06:40:12.123456Z`, with 0 to 9 decimals; any other text makes `nil`.
    public init?(_ text: String) {
        var fields = TimestampScanner(bytes: Array(text.utf8))
        guard let year = fields.number(4), year >= 1970, fields.skip("-"),
            let month = fields.number(2), (1...12).contains(month), fields.skip("-"),
            let day = fields.number(2), (1...Self.days(in: month, of: year)).contains(day), fields.skip("T"),
            let hour = fields.number(2), hour < 24, fields.skip(":"),
            let minute = fields.number(2), minute < 60, fields.skip(":"),
            let second = fields.number(2), second < 60,
            let micros = fields.microseconds(), fields.skip("Z"), fields.isAtEnd
        else { return nil }
        let seconds = Self.dayNumber(year, month, day) * 86400 + hour * 3600 + minute * 60 + second
        self.init(microsecondsSinceEpoch: seconds * 1_000_000 + micros)
    }

    /// The first moment of a year; the nearest one in the range for a year outside of it.
    init(year: Int64) {
        self.init(seconds: Self.dayNumber(year, 1, 1) * 86400)
    }

    /// The year that it lies in.
    var year: Int64 { Self.civil(dayNumber: microsecondsSinceEpoch / 86_400_000_000).year }

    private var date: String {
        let (year, month, day) = Self.civil(dayNumber: microsecondsSinceEpoch / 86_400_000_000)
        return "\(Self.digits(year, 4))-\(Self.digits(month, 2))-\(Self.digits(day, 2))"
    }

    private var clock: String {
        let seconds = microsecondsSinceEpoch / 1_000_000 % 86400
        let parts = [seconds / 3600, seconds / 60 % 60, seconds % 60]
        return parts.map { Self.digits($0, 2) }.joined(separator: ":")
    }

    private static func digits(_ value: Int64, _ count: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// Counts the days since 1970-01-01.
    ///
    /// Years are taken to start in March, so that the leap day is the last of its year.
    private static func dayNumber(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let marchYear = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear - 719_468
    }

    /// The inverse of `dayNumber`: 146,097 days make 400 years.
    private static func civil(dayNumber: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = dayNumber + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}

/// Reads fields of fixed width, one after the other.
private struct TimestampScanner {
    let bytes: [UInt8]
    var position = 0

    var isAtEnd: Bool { position == bytes.count }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, UInt32(bytes[position]) == character.value else { return false }
        position += 1
        return true
    }

    mutating func digit() -> Int64? {
        guard position < bytes.count, bytes[position] >= UInt8(ascii: "0"), bytes[position] <= UInt8(ascii: "9")
        else { return nil }
        defer { position += 1 }
        return Int64(bytes[position] - UInt8(ascii: "0"))
    }

    mutating func number(_ count: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// Up to nine decimals after a point, or none at all; those past the sixth are dropped.
    mutating func microseconds() -> Int64? {
        guard skip(".") else { return 0 }
        var value: Int64 = 0
        var count = 0
        while count < 9, let digit = digit() {
            if count < 6 { value = value * 10 + digit }
            count += 1
        }
        guard count > 0 else { return nil }
        for _ in min(count, 6)..<6 { value *= 10 }
        return value
    }
}
