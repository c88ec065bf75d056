package import CrashReports

/// A time as people type it: `2h`, `yesterday`, `2026-11-21 06:40`.
///
/// Clocks and calendars are those of UTC, as in reports, where no other zone is asked for.
package enum TimeExpression {
    /// What can be typed, for help and for errors.
    package static let forms = "such as 2h, 3d12h, yesterday, 06:40, 2026-11-21, \"2026-11-21 06:40\" or @1795243212"

    /// Reads a time.
    ///
    /// - Parameters:
    ///   - text: How long before now, such as `90s`, `15m`, `2h`, `3d`, `1w` or several of these, with or without ` ago`; `now`,
    ///     `today` or `yesterday`; a time of today; a date with or without a time; or `@` and seconds since 1970.
    ///   - now: The present.
    ///   - zone: The time zone of clocks and dates.
    /// - Returns: The time; nil for any other text.
    package static func time(_ text: String, now: Timestamp, zone: DisplayZone = .utc) -> Timestamp? {
        let text = text.lowercased()
        if text == "now" { return now }
        if text.hasPrefix("@") {
            guard let seconds = Int64(text.dropFirst()), seconds >= 0 else { return nil }
            return Timestamp(seconds: seconds)
        }
        let length = text.hasSuffix(" ago") ? String(text.dropLast(4)) : text
        if let seconds = seconds(length) { return now.adding(seconds: -seconds) }
        // A time with a Z says by itself that it is UTC.
        let zone = text.hasSuffix("z") ? .utc : zone
        let today = String(zone.brief(now).prefix(10))
        return civil(text, today: today).map(zone.time(ofCivil:))
    }

    /// A day or a clock, as if it were one of UTC.
    private static func civil(_ text: String, today: String) -> Timestamp? {
        switch text {
        case "today": midnight(today)
        case "yesterday": midnight(today)?.adding(seconds: -86400)
        default: absolute(text, today: today)
        }
    }

    /// Reads a length of time.
    ///
    /// - Parameter text: One or more numbers, each with its unit: `s`, `m` (minutes), `h`, `d` or `w`, the longest first.
    /// - Returns: The seconds; nil for any other text.
    package static func seconds(_ text: String) -> Double? {
        var rest = Substring(text.lowercased())
        var seconds = 0.0
        var last = Double.infinity
        repeat {
            let digits = rest.prefix { ("0"..."9").contains($0) || $0 == "." }
            rest = rest.dropFirst(digits.count)
            guard let number = Double(digits), let unit = rest.first.flatMap({ units[$0] }), unit < last else {
                return nil
            }
            rest = rest.dropFirst()
            last = unit
            seconds += number * unit
        } while !rest.isEmpty
        return seconds
    }

    private static let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604_800]

    private static func midnight(_ day: String) -> Timestamp? { Timestamp("\(day)T00:00:00Z") }

    private static func absolute(_ text: String, today: String) -> Timestamp? {
        var text = text.hasSuffix("z") ? String(text.dropLast()) : text
        if text.utf8.count > 10, let separator = text.dropFirst(10).first, separator == " " || separator == "t" {
            let clock = text.dropFirst(11)
            text = "\(text.prefix(10))T\(clock)"
        } else if text.contains(":") {
            text = "\(today)T\(text)"
        } else {
            return midnight(text)
        }
        // Seconds may be left out.
        let hasSeconds = text.filter { $0 == ":" }.count == 2
        return Timestamp(text + (hasSeconds ? "" : ":00") + "Z")
    }
}

extension ByteCount {
    /// Reads a number of bytes.
    ///
    /// - Parameter text: A number with or without a unit: `K`, `M`, `G`, `T`, with `iB` or `B` after it or not; all are
    ///   powers of 1024.
    /// - Returns: The number; nil for any other text and where it is too large.
    package static func bytes(_ text: String) -> Int? {
        var text = text.uppercased()
        for suffix in ["IB", "B"] where text.hasSuffix(suffix) {
            text = String(text.dropLast(suffix.count))
            break
        }
        let shift = ["K": 10, "M": 20, "G": 30, "T": 40][text.last ?? " "]
        if shift != nil { text = String(text.dropLast()) }
        // `Double` would take signs, exponents and words.
        guard text.allSatisfy({ ("0"..."9").contains($0) || $0 == "." }), let number = Double(text) else { return nil }
        return Int(exactly: (number * Double(1 << (shift ?? 0))).rounded())
    }
}
