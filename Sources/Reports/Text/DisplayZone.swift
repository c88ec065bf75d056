internal import Glibc

/// In which time zone people are shown times; reports have them in UTC.
package enum DisplayZone: Sendable, Hashable {
    /// Universal time.
    case utc
    /// The time zone of this machine: `TZ`, else /etc/localtime (tzset(3)).
    case local

    /// Gives the time whose text in UTC is what a clock of this zone shows.
    ///
    /// - Parameter time: A time.
    /// - Returns: That time, moved by what the zone was ahead of UTC then.
    package func civil(_ time: Timestamp) -> Timestamp {
        self == .utc ? time : Timestamp(microsecondsSinceEpoch: time.microsecondsSinceEpoch + offset(at: time))
    }

    /// The inverse of ``civil(_:)``: the time at which a clock of this zone shows something.
    ///
    /// - Parameter civil: The time whose text in UTC the clock shows.
    /// - Returns: The time; one of the two where the clock was put back.
    package func time(ofCivil civil: Timestamp) -> Timestamp {
        guard self == .local else { return civil }
        let near = Timestamp(microsecondsSinceEpoch: civil.microsecondsSinceEpoch - offset(at: civil))
        return Timestamp(microsecondsSinceEpoch: civil.microsecondsSinceEpoch - offset(at: near))
    }

    /// The time as `2026-11-21 07:40:12`, by a clock of this zone.
    package func brief(_ time: Timestamp) -> String { civil(time).brief }

    /// The same with the name of the zone, as `2026-11-21 07:40:12 CET`.
    package func stamp(_ time: Timestamp) -> String { "\(brief(time)) \(name(at: time))" }

    /// What the zone is called above a column of times.
    package var title: String { self == .utc ? "UTC" : "local" }

    /// What the zone was called at a time, such as `CET`.
    package func name(at time: Timestamp) -> String {
        guard self == .local else { return title }
        // A name of the C library's own, which stays.
        return unsafe Self.parts(of: time).tm_zone.map { unsafe String(cString: $0) } ?? title
    }

    private func offset(at time: Timestamp) -> Int64 {
        Int64(unsafe Self.parts(of: time).tm_gmtoff) * 1_000_000
    }

    private static func parts(of time: Timestamp) -> tm {
        var seconds = time_t(time.microsecondsSinceEpoch / 1_000_000)
        var parts = unsafe tm()
        // localtime_r(3) need not look at `TZ` by itself.
        tzset()
        _ = unsafe localtime_r(&seconds, &parts)
        return unsafe parts
    }
}
