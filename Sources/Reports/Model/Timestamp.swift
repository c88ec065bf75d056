import Glibc

/// A point in time in UTC, to the microsecond, from 1970 to the end of the year 9999.
public struct Timestamp: Sendable, Hashable {
    /// Microseconds since 1970-01-01T00:00:00Z.
    public let microsecondsSinceEpoch: Int64

    /// The last microsecond of the year 9999, the last that the text form can say.
    static let maximum: Int64 = 253_402_300_799_999_999

    /// Makes a point in time; one outside of the range becomes the nearest inside.
    ///
    /// - Parameter microsecondsSinceEpoch: Microseconds since 1970-01-01T00:00:00Z.
    package init(microsecondsSinceEpoch: Int64) {
        self.microsecondsSinceEpoch = min(max(microsecondsSinceEpoch, 0), Self.maximum)
    }

    /// Makes a point in time from what `clock_gettime` gives; one outside of the range becomes the nearest inside.
    ///
    /// - Parameters:
    ///   - seconds: Whole seconds since 1970-01-01T00:00:00Z.
    ///   - nanoseconds: The rest; parts of a microsecond are dropped.
    package init(seconds: Int64, nanoseconds: Int64 = 0) {
        let clamped = min(max(seconds, 0), Self.maximum / 1_000_000)
        // Each summand is far from overflow.
        self.init(microsecondsSinceEpoch: clamped * 1_000_000 + nanoseconds / 1000)
    }

    /// The present, by the real-time clock.
    public static var now: Timestamp {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }

    /// Gives the time that lies some seconds away.
    ///
    /// - Parameter seconds: How far; negative for the past. Not a number counts as zero.
    /// - Returns: That time, or the nearest one in the range.
    package func adding(seconds: Double) -> Timestamp {
        let micros = seconds.isNaN ? 0 : (seconds * 1e6).rounded()
        let limit = Double(Self.maximum)
        // Both summands are below 2^58: no overflow.
        return Timestamp(microsecondsSinceEpoch: microsecondsSinceEpoch + Int64(min(max(micros, -limit), limit)))
    }
}

extension Timestamp: Comparable {
    /// Tells whether one time is before another.
    ///
    /// - Parameters:
    ///   - left: A time.
    ///   - right: Another time.
    /// - Returns: Whether the first is the earlier one.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microsecondsSinceEpoch < right.microsecondsSinceEpoch
    }
}

extension Timestamp: TextCoded {
    static let form = "a time of the form 2026-11-21T06:40:12.123456Z"

    /// The time as in reports: `2026-11-21T06:40:12.123456Z`.
    public var description: String {
        let micros = String(microsecondsSinceEpoch % 1_000_000)
        return "\(text(separator: "T")).\(String(repeating: "0", count: 6 - micros.count))\(micros)Z"
    }

    /// The time to the second, without a zone, for tables: `2026-11-21 06:40:12`.
    package var brief: String { text(separator: " ") }

    private func text(separator: String) -> String {
        var seconds = time_t(microsecondsSinceEpoch / 1_000_000)
        var parts = unsafe tm()
        _ = unsafe gmtime_r(&seconds, &parts)
        func two(_ number: CInt) -> String { number < 10 ? "0\(number)" : String(number) }
        let date = unsafe "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
        return unsafe "\(date)\(separator)\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    }

    /// Reads a time from its text.
    ///
    /// - Parameter text: A time in UTC with a `Z` at its end. There may be up to nine decimals; what is below a microsecond is dropped.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        let zero = UInt8(ascii: "0")
        func isDigit(_ byte: UInt8) -> Bool { (zero...zero + 9).contains(byte) }
        guard bytes.count >= 20, bytes.last == UInt8(ascii: "Z"),
            zip("0000-00-00T00:00:00".utf8, bytes).allSatisfy({ $0 == zero ? isDigit($1) : $0 == $1 })
        else { return nil }
        let fraction = bytes[19..<bytes.count - 1]
        let decimals = fraction.dropFirst()
        guard fraction.isEmpty || fraction.first == UInt8(ascii: ".") && (1...9).contains(decimals.count),
            decimals.allSatisfy(isDigit)
        else { return nil }
        func number(_ digits: some Sequence<UInt8>) -> CInt { digits.reduce(0) { $0 * 10 + CInt($1 - zero) } }
        var parts = unsafe tm()
        unsafe parts.tm_year = number(bytes[0..<4]) - 1900
        let rest = [5, 8, 11, 14, 17].map { number(bytes[$0..<$0 + 2]) }
        unsafe (parts.tm_mon, parts.tm_mday, parts.tm_hour) = (rest[0] - 1, rest[1], rest[2])
        unsafe (parts.tm_min, parts.tm_sec) = (rest[3], rest[4])
        let seconds = unsafe timegm(&parts)
        // timegm(3) takes the 30th of February for a day in March.
        let taken = unsafe [parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec]
        guard seconds >= 0, taken == rest else { return nil }
        let micros = number(decimals.prefix(6) + [UInt8](repeating: zero, count: max(0, 6 - decimals.count)))
        self.init(microsecondsSinceEpoch: Int64(seconds) * 1_000_000 + Int64(micros))
    }
}
