internal import CrashReports

/// Numbers and words, as a page says them.
enum HTMLWords {
    /// A number with its thousands apart.
    static func count(_ number: Int) -> String {
        let digits = Array(String(number.magnitude))
        var text = number < 0 ? "−" : ""
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return text
    }

    /// A number with a word after it.
    static func count(_ number: Int, _ one: String, _ many: String? = nil) -> String {
        "\(count(number)) \(number == 1 ? one : many ?? one + "s")"
    }

    /// Bytes, in the largest unit of which there is one.
    static func bytes(_ number: Int) -> String {
        var value = Double(number)
        var unit = "bytes"
        for larger in ["KiB", "MiB", "GiB", "TiB"] where value.magnitude >= 1024 {
            value /= 1024
            unit = larger
        }
        return unit == "bytes" ? "\(count(number)) bytes" : "\(decimal(value)) \(unit)"
    }

    /// A time span in its two largest units.
    static func duration(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds.magnitude < 1e12 else { return "unknown" }
        guard seconds.magnitude >= 60 else { return "\(decimal(seconds)) s" }
        let whole = Int(seconds.magnitude)
        let sign = seconds < 0 ? "−" : ""
        let units = [(86400, "d"), (3600, "h"), (60, "min"), (1, "s")]
        let first = units.firstIndex { whole >= $0.0 } ?? 3
        var parts = ["\(whole / units[first].0) \(units[first].1)"]
        if first < 3 {
            let rest = whole % units[first].0 / units[first + 1].0
            if rest > 0 { parts.append("\(rest) \(units[first + 1].1)") }
        }
        return sign + parts.joined(separator: " ")
    }

    /// A number with as many decimals as it is worth.
    static func decimal(_ value: Double) -> String {
        guard value.isFinite else { return "unknown" }
        guard value.magnitude < 1e15 else { return "\(value)" }
        let digits = value.magnitude >= 100 ? 1 : value.magnitude >= 10 ? 10 : value.magnitude >= 1 ? 100 : 1000
        let scaled = (value.magnitude * Double(digits)).rounded()
        let whole = Int(scaled) / digits
        let rest = Int(scaled) % digits
        let sign = value < 0 && scaled > 0 ? "−" : ""
        guard rest > 0 else { return "\(sign)\(count(whole))" }
        var decimals = String(rest)
        decimals = String(repeating: "0", count: String(digits).count - 1 - decimals.count) + decimals
        while decimals.hasSuffix("0") { decimals.removeLast() }
        return "\(sign)\(count(whole)).\(decimals)"
    }

    /// What became of a process, as a participle.
    static func outcome(_ decision: CrashReport.Verdict.Decision) -> String {
        switch decision {
        case .resume: "resumed"
        case .restart: "restarted"
        case .terminate: "ended"
        case .wait: "stalled"
        default: decision.rawValue
        }
    }

    /// The class of a verdict, which gives it its colour.
    static func style(_ decision: CrashReport.Verdict.Decision) -> String {
        switch decision {
        case .resume: "resume"
        case .restart: "restart"
        case .terminate: "terminate"
        case .wait: "wait"
        default: "other"
        }
    }

    /// The hour of a time, `06:40:12`.
    static func clock(_ time: Timestamp) -> String { String(time.brief.suffix(8)) }

    /// The day of a time, such as `21 Nov`.
    static func day(_ time: Timestamp) -> String {
        let parts = time.brief.prefix(10).split(separator: "-").compactMap { Int($0) }
        guard parts.count == 3, months.indices.contains(parts[1] - 1) else { return time.brief }
        return "\(parts[2]) \(months[parts[1] - 1])"
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
