internal import CrashReports
internal import Glibc
internal import ReportText

/// The timeline: how many faults when, and what became of each process.
extension HTMLReportPage {
    private static let width = 1000.0
    private static let left = 170.0
    private static let right = 14.0
    private static let chartHeight = 92.0
    private static let laneHeight = 24.0
    private static let mostLanes = 12
    private static let mostMarks = 60
    private static let buckets = 72

    func addTimeline(_ full: FullReports, to html: inout HTMLText) {
        guard let first = entries.map(\.time).min(), let last = entries.map(\.last).max() else {
            html.element("p", ["class": "empty", "id": "groups"], text: "There are no reports: nothing has crashed.")
            return
        }
        let width = Self.width - Self.left - Self.right
        let scale = HTMLTimeScale(first: first, last: last, left: Self.left, width: width, zone: zone)
        let lanes = Lane.lanes(of: entries)
        let shown = Array(lanes.prefix(Self.mostLanes))
        html.element("section.card timeline", ["aria-labelledby": "timeline"]) { html in
            html.element("h2", ["id": "timeline"], text: "Timeline")
            addLegend(to: &html)
            html.scroll("Timeline of faults", "div.scroll latest") { html in
                let height = Self.chartHeight + 30 + Double(shown.count) * Self.laneHeight + 26
                addNames(shown, scale, height: height, to: &html)
                let box = "0 0 \(Int(Self.width)) \(Int(height))"
                html.element("svg.chart", ["viewBox": box, "role": "group"]) { html in
                    addAxis(scale, height: height, to: &html)
                    addBars(scale, to: &html)
                    for (place, lane) in shown.enumerated() {
                        addLane(lane, at: Self.middle(ofLane: place), scale, full, to: &html)
                    }
                }
            }
            let more = Count.of(lanes.count - shown.count, "older process", "older processes")
            if lanes.count > shown.count { html.element("p.note", text: "\(more) not drawn.") }
        }
    }

    private func addLegend(to html: inout HTMLText) {
        func item(_ width: String, _ words: String, _ drawing: (inout HTMLText) -> Void) {
            html.element("li") { html in
                let box = "0 0 \(width) 14"
                html.element(
                    "svg",
                    ["viewBox": box, "width": width, "height": "14", "aria-hidden": "true"],
                    drawing
                )
                html.text(words, limit: 40)
            }
        }
        html.open("ul.legend")
        for (decision, _) in Self.decisions(of: entries) {
            item("14", HTMLWords.outcome(decision)) { addShape(decision, x: 7, y: 7, to: &$0) }
        }
        item("22", "a process") { $0.element("line.life", ["x1": "2", "x2": "20", "y1": "7", "y2": "7"]) }
        item("22", "it went on, without a report since") {
            $0.element("line.life since", ["x1": "2", "x2": "20", "y1": "7", "y2": "7"])
        }
        html.markup("</ul>")
    }

    private func addAxis(_ scale: HTMLTimeScale, height: Double, to html: inout HTMLText) {
        for tick in scale.ticks {
            let x = Self.number(tick.place)
            html.element("line.grid", ["x1": x, "x2": x, "y1": "14", "y2": Self.number(height - 24)])
            // What reached into the names of the processes would not be seen.
            let anchor = tick.place < Self.left + 24 ? "start" : "middle"
            html.element("text.tick", ["x": x, "y": Self.number(height - 8), "text-anchor": anchor], text: tick.text)
        }
        let (base, end) = (Self.number(Self.chartHeight + 18), Self.number(Self.width - Self.right))
        html.element("line.base", ["x1": Self.number(Self.left), "x2": end, "y1": base, "y2": base])
    }

    /// Bars of faults, with those of each verdict on top of the other.
    private func addBars(_ scale: HTMLTimeScale, to html: inout HTMLText) {
        let decisions = Self.decisions(of: entries).map(\.decision)
        let counts = decisions.map { decision in
            Self.histogram(entries.filter { $0.decision == decision }, scale, buckets: Self.buckets)
        }
        let totals = (0..<Self.buckets).map { bucket in counts.reduce(0) { $0 + $1[bucket] } }
        let (most, isLogarithmic) = highest(scale)
        let height = { (count: Double) in
            max(2, (isLogarithmic ? log1p(count) / log1p(most) : count / most) * Self.chartHeight)
        }
        let step = scale.width / Double(Self.buckets)
        let base = Self.chartHeight + 18
        for bucket in 0..<Self.buckets where totals[bucket] > 0 {
            var y = base
            for (decision, counts) in zip(decisions, counts) where counts[bucket] > 0 {
                let height = max(2, height(totals[bucket]) * counts[bucket] / totals[bucket])
                y = max(0, y - height)
                html.element(
                    "rect",
                    [
                        "class": HTMLWords.style(decision), "x": Self.number(scale.left + Double(bucket) * step + 1),
                        "y": Self.number(y), "width": Self.number(step - 2), "height": Self.number(height),
                    ]
                )
            }
        }
    }

    /// What stands at the left of the chart, in a drawing of its own: it stays where it is when the chart is scrolled.
    private func addNames(_ lanes: [Lane], _ scale: HTMLTimeScale, height: Double, to html: inout HTMLText) {
        let (most, isLogarithmic) = highest(scale)
        let box = "0 0 \(Int(Self.left)) \(Int(height))"
        html.element("svg.chart names", ["viewBox": box, "role": "group"]) { html in
            html.element("rect.ground", ["width": "100%", "height": "100%"])
            html.element("text.label", ["x": "0", "y": "26"], text: events + (isLogarithmic ? " (log)" : ""))
            let x = Self.number(Self.left - 10)
            for (y, text) in [(26, String(Int(most.rounded(.up)))), (Self.chartHeight + 18, "0")] {
                html.element("text.tick", ["x": x, "y": Self.number(y), "text-anchor": "end"], text: text)
            }
            for (place, lane) in lanes.enumerated() {
                html.element("text.label", ["x": "0", "y": Self.number(Self.middle(ofLane: place) + 4)]) { html in
                    html.text(lane.newest.process, limit: 15)
                    html.element("tspan.pid", text: " \(lane.newest.pid)")
                }
            }
        }
    }

    private static func middle(ofLane place: Int) -> Double { chartHeight + 34 + (Double(place) + 0.5) * laneHeight }

    /// How many faults the highest bar stands for, and whether the heights are logarithms: beside a flood a few would not be seen.
    private func highest(_ scale: HTMLTimeScale) -> (most: Double, isLogarithmic: Bool) {
        let most = max(1, Self.histogram(entries, scale, buckets: Self.buckets).max() ?? 1)
        return (most, most > 50)
    }

    /// What the bars count.
    private var events: String {
        let kinds = Set(entries.map(\.kind.event))
        return kinds == ["stall"] ? "stalls" : kinds.contains("stall") ? "faults, stalls" : "faults"
    }

    private func addLane(
        _ lane: Lane,
        at y: Double,
        _ scale: HTMLTimeScale,
        _ full: FullReports,
        to html: inout HTMLText
    ) {
        let from = Self.number(scale.place(of: lane.start))
        let to = Self.number(max(scale.place(of: lane.last), scale.place(of: lane.start) + 2))
        let row = Self.number(y)
        if lane.wentOn {
            let end = Self.number(scale.left + scale.width)
            html.element("line.life since", ["x1": to, "x2": end, "y1": row, "y2": row])
        }
        html.element("line.life", ["x1": from, "x2": to, "y1": row, "y2": row])
        for entry in lane.entries.prefix(Self.mostMarks).reversed() {
            let words =
                "\(HTMLWords.clock(zone.civil(entry.time))) \(entry.process) \(entry.pid): \(entry.reason.limited(to: 120)), "
                + HTMLWords.outcome(entry.decision)
            let target = full.html[entry.id] != nil ? "#r-\(entry.id)" : nil
            // Without a target it is a place holder for a link, which nothing can follow.
            html.element("a", ["href": target, "class": "point", "aria-label": target == nil ? nil : words]) { html in
                html.element("title", text: words)
                addShape(entry.decision, x: scale.place(of: entry.time), y: y, to: &html)
            }
        }
    }

    /// A verdict has a shape as well as a colour.
    private func addShape(_ decision: CrashReport.Verdict.Decision, x: Double, y: Double, to html: inout HTMLText) {
        let style = "shape \(HTMLWords.style(decision))"
        func path(_ corners: [(Double, Double)]) {
            let places = corners.map { "\(Self.number(x + $0.0)) \(Self.number(y + $0.1))" }
            html.element("path", ["class": style, "d": "M\(places.joined(separator: "L"))Z"])
        }
        switch decision {
        case .resume: html.element("circle", ["class": style, "cx": Self.number(x), "cy": Self.number(y), "r": "5"])
        case .wait: path([(0, -5.5), (6, 5), (-6, 5)])
        case .restart: path([(0, -6.5), (6.5, 0), (0, 6.5), (-6.5, 0)])
        default:
            let (left, top) = (Self.number(x - 5), Self.number(y - 5))
            html.element(
                "rect",
                ["class": style, "x": left, "y": top, "width": "10", "height": "10", "rx": "1.5"]
            )
        }
    }

    /// A number of the drawing, with a decimal at most.
    static func number(_ value: Double) -> String {
        let tenths = Int((min(max(value, -1e6), 1e6) * 10).rounded())
        guard tenths % 10 != 0 else { return String(tenths / 10) }
        return "\(tenths < 0 ? "-" : "")\(tenths.magnitude / 10).\(tenths.magnitude % 10)"
    }

    /// Counts the faults of reports in equal parts of an axis; those that a report counts lie evenly between its first and
    /// its last.
    static func histogram(_ entries: [Entry], _ scale: HTMLTimeScale, buckets: Int) -> [Double] {
        var counts = Array(repeating: 0.0, count: buckets)
        for entry in entries {
            let first = scale.bucket(of: entry.time, of: buckets)
            let last = max(first, scale.bucket(of: entry.last, of: buckets))
            // With a few faults their ends are known; the many of a flood are spread.
            guard entry.count > 1, last > first else {
                counts[first] += Double(entry.count)
                continue
            }
            let share = Double(entry.count) / Double(last - first + 1)
            for bucket in first...last { counts[bucket] += share }
        }
        return counts
    }
}

/// One process: from its start to its last fault, and on if it went on.
private struct Lane {
    var entries: [HTMLReportPage.Entry]
    /// When it started.
    var start: Timestamp { entries.map { min($0.summary.started, $0.time) }.min() ?? newest.time }
    /// Whether it was there after its last fault: a restart in place keeps the process.
    var wentOn: Bool { [.resume, .restart, .wait].contains(newest.decision) }
    var newest: HTMLReportPage.Entry { entries[0] }
    var last: Timestamp { entries.map(\.last).max() ?? newest.last }

    /// The processes, the one with the newest fault first; a restart in place keeps the process.
    static func lanes(of entries: [HTMLReportPage.Entry]) -> [Lane] {
        let lanes = Dictionary(grouping: entries) { [$0.host, $0.process, String($0.pid)] }.values.map(Lane.init)
        return lanes.sorted { ($0.last, $0.newest.id.rawValue) > ($1.last, $1.newest.id.rawValue) }
    }
}

/// Where a time lies on an axis.
struct HTMLTimeScale {
    /// The times at the ends, in microseconds since 1970; the end is after the start.
    let start: Int64
    let end: Int64
    /// Where the axis is drawn.
    let left: Double
    let width: Double
    /// By whose clocks times are round.
    let zone: DisplayZone

    /// Makes an axis for some times, with a little room on both sides.
    init(first: Timestamp, last: Timestamp, left: Double, width: Double, zone: DisplayZone) {
        let from = first.microsecondsSinceEpoch
        let to = max(from, last.microsecondsSinceEpoch)
        // Times are below 2^58: sums of a few of them do not overflow.
        let room = max((to - from) / 40, 1_000_000)
        start = from - room
        end = to + room
        self.left = left
        self.width = width
        self.zone = zone
    }

    /// The place of a time; one that lies before or after is at that end.
    func place(of time: Timestamp) -> Double { left + part(of: time) * width }

    private func part(of time: Timestamp) -> Double {
        Double(min(max(time.microsecondsSinceEpoch, start), end) - start) / Double(end - start)
    }

    /// Cuts the axis into equal parts.
    ///
    /// - Parameters:
    ///   - time: A time.
    ///   - count: How many parts.
    /// - Returns: The part that the time lies in, from 0.
    func bucket(of time: Timestamp, of count: Int) -> Int { min(count - 1, Int(part(of: time) * Double(count))) }

    /// Round times on the axis, eight at most.
    var ticks: [(place: Double, text: String)] {
        let step = Self.steps.first { (end - start) / ($0 * 1_000_000) < 8 } ?? (end - start) / 8_000_000 + 1
        let micros = step * 1_000_000
        var ticks: [(place: Double, text: String)] = []
        // What is round by a clock of the zone; where the clock is changed between two of them, that moves.
        let civilStart = zone.civil(Timestamp(microsecondsSinceEpoch: start)).microsecondsSinceEpoch
        var civil = (civilStart / micros + 1) * micros
        while ticks.count < 9 {
            let time = zone.time(ofCivil: Timestamp(microsecondsSinceEpoch: civil))
            guard time.microsecondsSinceEpoch < end else { break }
            ticks.append((place(of: time), text(civil, step)))
            civil += micros
        }
        return ticks
    }

    /// The day at midnight, else the hour as exactly as the steps are.
    private func text(_ civil: Int64, _ step: Int64) -> String {
        let time = Timestamp(microsecondsSinceEpoch: civil)
        let clock = HTMLWords.clock(time)
        if step >= 86400 || clock == "00:00:00" { return HTMLWords.day(time) }
        return step >= 60 ? String(clock.prefix(5)) : clock
    }

    private static let steps: [Int64] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172_800, 604_800,
        1_209_600, 2_592_000, 7_776_000, 31_536_000,
    ]
}
