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
    public func adding(seconds: Double) -> Timestamp {
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

extension Timestamp: Codable {
    /// Reads a time from its text.
    ///
    /// - Parameter decoder: Gives a string.
    /// - Throws: `DecodingError` when it is not the text of a time.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let time = Timestamp(text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "not a time of the form 2026-11-21T06:40:12.123456Z"
            )
        }
        self = time
    }

    /// Writes the time as text.
    ///
    /// - Parameter encoder: Takes a string.
    /// - Throws: Errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
