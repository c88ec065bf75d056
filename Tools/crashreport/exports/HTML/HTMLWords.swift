internal import CrashReports

/// Numbers and words, as a page says them.
enum HTMLWords {
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
        let known: [CrashReport.Verdict.Decision] = [.resume, .restart, .terminate, .wait]
        return known.contains(decision) ? decision.rawValue : "other"
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
