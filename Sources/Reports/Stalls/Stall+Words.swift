extension CrashReport.Stall {
    /// What happened, in one plain line: the reason of its report.
    package var reason: String {
        let what = subject == .ping ? "no answer" + (label.map { " from \($0)" } ?? "") : "stalled"
        let time = end == .never ? "for at least \(Self.text(seconds: length))" : "for \(Self.text(seconds: length))"
        let doing = activities.first.flatMap { $0.activity == .unknown ? nil : ", \($0.text)" } ?? ""
        return "\(what) \(time)\(doing)" + (end == .never ? ", no end seen" : "")
    }

    /// What stalled: `the loop "main loop"`, or what was pinged.
    package var whose: String {
        let name = label.map { " \"\($0)\"" } ?? ""
        switch subject {
        case .loop: return "the event loop\(name)"
        case .job: return "a job of a task\(name)"
        case .ping: return label.map { "\"\($0)\", which was pinged" } ?? "what was pinged"
        default: return subject.rawValue + name
        }
    }

    /// When it was over, or was last seen.
    package var over: Timestamp { begin.adding(seconds: length) }

    /// A time in words, to three digits: `12.3 ms`, `1.25 s`, `3 min 5 s`.
    package static func text(seconds: Double) -> String {
        guard seconds.isFinite, seconds >= 0 else { return "an unknown time" }
        switch seconds {
        case ..<0.9995: return "\(digits(seconds * 1000)) ms"
        case ..<119.5: return "\(digits(seconds)) s"
        case ..<1e9:
            let whole = Int(seconds.rounded())
            if whole < 7200 { return "\(whole / 60) min \(whole % 60) s" }
            return "\(whole / 3600) h \(whole % 3600 / 60) min"
        default: return "longer than the clock can tell"
        }
    }

    private static func digits(_ value: Double) -> String {
        let scale: Double = value < 9.995 ? 100 : value < 99.95 ? 10 : 1
        let rounded = (value * scale).rounded() / scale
        return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
    }

    /// Counts further stalls of the same cause; the report tells of the longest.
    ///
    /// - Parameter other: The stall of the other report.
    mutating func count(_ other: CrashReport.Stall) {
        var all = lengths
        all.add(other.lengths)
        if other.length > length { self = other }
        lengths = all
    }
}

extension CrashReport.Kind {
    /// What happened, in a word: `fault`, `stall`, `end`.
    package var event: String { self == .stall ? "stall" : self == .death ? "end" : "fault" }
}
