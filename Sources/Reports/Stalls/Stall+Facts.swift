extension CrashReport.Stall {
    /// Something that a report says of a stall, in words.
    package struct Fact: Sendable, Hashable {
        /// What it is: `length`.
        package var name: String
        /// What is said of it.
        package var text: String
    }

    private static let mostActivities = 6

    /// What there is to say in a few lines: what stalled, for how long, and what its thread did.
    ///
    /// - Parameter zone: The time zone that times are told in.
    /// - Returns: A line each.
    package func facts(in zone: DisplayZone = .utc) -> [Fact] {
        var facts = [Fact(name: "what", text: "stall \(number) of its process, of \(whose)")]
        // A report is written while its stall lasts: without an end in it, the stall lasts still, or the process ended first.
        let time = end == .never ? "at least \(Self.text(seconds: length)), no end seen" : Self.text(seconds: length)
        facts.append(Fact(name: "length", text: "\(time) (a stall from \(Self.text(seconds: threshold)) on)"))
        let over = end == .wentOn || end == .abandoned ? ", \(end.rawValue) at \(zone.brief(over).suffix(8))" : ""
        facts.append(Fact(name: "began", text: "\(zone.stamp(begin))\(over)"))
        if !activities.isEmpty { facts.append(Fact(name: "thread", text: activityText)) }
        let processor = [
            processorSeconds.map { "\(Self.text(seconds: $0)) on it" },
            waitedForProcessorSeconds.map { "\(Self.text(seconds: $0)) ready and waiting for it" },
        ].compactMap(\.self)
        if !processor.isEmpty { facts.append(Fact(name: "processor", text: processor.joined(separator: ", "))) }
        if let ticks { facts.append(Fact(name: "ticks", text: ticks.text)) }
        return facts
    }

    /// Such as `running 1.46 s (80 %); in write 360 ms (20 %)`.
    private var activityText: String {
        let whole = activities.reduce(0) { $0 + max(0, $1.seconds) }
        let shown = activities.prefix(Self.mostActivities).map { entry in
            let part = entry.seconds / whole * 100
            let percent = part.isFinite && part >= 0 ? " (\(Int(min(part, 100).rounded())) %)" : ""
            return "\(entry.text) \(Self.text(seconds: entry.seconds))\(percent)"
        }
        let more = activities.count - shown.count
        // An activity may have a comma in it.
        return shown.joined(separator: "; ") + (more > 0 ? "; \(more) more" : "")
    }
}

extension CrashReport.Stall.Ticks {
    /// Such as `90 came, 10 missed, 90.0 % smooth, 1.5 ms of each second held up`.
    fileprivate var text: String {
        let smooth = smoothness.isFinite ? (min(max(smoothness, 0), 1) * 1000).rounded() / 10 : 0
        let held = hitchRatio.isFinite ? (min(max(hitchRatio, 0), 1000) * 10).rounded() / 10 : 0
        return "\(count) came, \(missed) missed, \(smooth) % smooth, \(held) ms of each second held up"
    }
}
