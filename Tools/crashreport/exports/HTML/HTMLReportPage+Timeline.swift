internal import CrashReports
internal import Glibc

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
        let scale = HTMLTimeScale(
            first: first,
            last: last,
            left: Self.left,
            width: Self.width - Self.left - Self.right,
            zone: zone
        )
        let lanes = Lane.lanes(of: entries)
        let shown = Array(lanes.prefix(Self.mostLanes))
        html.element("section", ["class": "card timeline", "aria-labelledby": "timeline"]) { html in
            html.element("h2", ["id": "timeline"], text: "Timeline")
            addLegend(to: &html)
            html.element(
                "div",
                ["class": "scroll latest", "tabindex": "0", "role": "group", "aria-label": "Timeline of faults"]
            ) { html in
                let height = Self.chartHeight + 30 + Double(shown.count) * Self.laneHeight + 26
                addNames(shown, scale, height: height, to: &html)
                html.element(
                    "svg",
                    ["class": "chart", "viewBox": "0 0 \(Int(Self.width)) \(Int(height))", "role": "group"]
                ) { html in
                    addAxis(scale, height: height, to: &html)
                    addBars(scale, to: &html)
                    for (place, lane) in shown.enumerated() {
                        addLane(lane, at: Self.middle(ofLane: place), scale, full, to: &html)
                    }
                }
            }
            if lanes.count > shown.count {
                let more = Count.of(lanes.count - shown.count, "older process", "older processes")
                html.element("p", ["class": "note"], text: "\(more) not drawn.")
            }
        }
    }

    private func addLegend(to html: inout HTMLText) {
        html.element("ul", ["class": "legend"]) { html in
            for (decision, _) in Self.decisions(of: entries) {
                html.element("li") { html in
                    html.element("svg", ["viewBox": "0 0 14 14", "width": "14", "height": "14", "aria-hidden": "true"])
                    {
                        addShape(decision, x: 7, y: 7, to: &$0)
                    }
                    html.text(HTMLWords.outcome(decision), limit: 40)
                }
            }
            html.element("li") { html in
                html.element("svg", ["viewBox": "0 0 22 14", "width": "22", "height": "14", "aria-hidden": "true"]) {
                    $0.open("line", ["class": "life", "x1": "2", "x2": "20", "y1": "7", "y2": "7"])
                    $0.markup("</line>")
                }
                html.text("a process")
            }
            html.element("li") { html in
                html.element("svg", ["viewBox": "0 0 22 14", "width": "22", "height": "14", "aria-hidden": "true"]) {
                    $0.open("line", ["class": "life since", "x1": "2", "x2": "20", "y1": "7", "y2": "7"])
                    $0.markup("</line>")
                }
                html.text("it went on, without a report since")
            }
        }
    }

    private func addAxis(_ scale: HTMLTimeScale, height: Double, to html: inout HTMLText) {
        for tick in scale.ticks {
            let x = Self.number(tick.place)
            html.element("line", ["class": "grid", "x1": x, "x2": x, "y1": "14", "y2": Self.number(height - 24)]) { _ in
            }
            html.element(
                "text",
                // What reached into the names of the processes would not be seen.
                [
                    "class": "tick", "x": x, "y": Self.number(height - 8),
                    "text-anchor": tick.place < Self.left + 24 ? "start" : "middle",
                ],
                text: tick.text
            )
        }
        let base = Self.number(Self.chartHeight + 18)
        html.element(
            "line",
            [
                "class": "base", "x1": Self.number(Self.left), "x2": Self.number(Self.width - Self.right), "y1": base,
                "y2": base,
            ]
        ) { _ in }
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
                html.open(
                    "rect",
                    [
                        "class": HTMLWords.style(decision), "x": Self.number(scale.left + Double(bucket) * step + 1),
                        "y": Self.number(y), "width": Self.number(step - 2), "height": Self.number(height),
                    ]
                )
                html.markup("</rect>")
            }
        }
    }

    /// What stands at the left of the chart, in a drawing of its own: it stays where it is when the chart is scrolled.
    private func addNames(_ lanes: [Lane], _ scale: HTMLTimeScale, height: Double, to html: inout HTMLText) {
        let (most, isLogarithmic) = highest(scale)
        html.element(
            "svg",
            ["class": "chart names", "viewBox": "0 0 \(Int(Self.left)) \(Int(height))", "role": "group"]
        ) { html in
            html.element("rect", ["class": "ground", "width": "100%", "height": "100%"]) { _ in }
            html.element(
                "text",
                ["class": "label", "x": "0", "y": "26"],
                text: events + (isLogarithmic ? " (log)" : "")
            )
            for (y, text) in [(26, String(Int(most.rounded(.up)))), (Self.chartHeight + 18, "0")] {
                html.element(
                    "text",
                    ["class": "tick", "x": Self.number(Self.left - 10), "y": Self.number(y), "text-anchor": "end"],
                    text: text
                )
            }
            for (place, lane) in lanes.enumerated() {
                let y = Self.number(Self.middle(ofLane: place) + 4)
                html.element("text", ["class": "label", "x": "0", "y": y]) { html in
                    html.text(lane.newest.process, limit: 15)
                    html.element("tspan", ["class": "pid"], text: " \(lane.newest.pid)")
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
            html.element("line", ["class": "life since", "x1": to, "x2": end, "y1": row, "y2": row]) { _ in }
        }
        html.element("line", ["class": "life", "x1": from, "x2": to, "y1": row, "y2": row]) { _ in }
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
        func place(_ dx: Double, _ dy: Double) -> String { "\(Self.number(x + dx)) \(Self.number(y + dy))" }
        switch decision {
        case .resume:
            html.element("circle", ["class": style, "cx": Self.number(x), "cy": Self.number(y), "r": "5"]) { _ in }
        case .wait:
            let path = "M\(place(0, -5.5))L\(place(6, 5))L\(place(-6, 5))Z"
            html.element("path", ["class": style, "d": path]) { _ in }
        case .restart:
            let path = "M\(place(0, -6.5))L\(place(6.5, 0))L\(place(0, 6.5))L\(place(-6.5, 0))Z"
            html.element("path", ["class": style, "d": path]) { _ in }
        default:
            html.element(
                "rect",
                [
                    "class": style, "x": Self.number(x - 5), "y": Self.number(y - 5), "width": "10", "height": "10",
                    "rx": "1.5",
                ]
            ) { _ in }
        }
    }

    /// A number of the drawing, with a decimal at most.
    static func number(_ value: Double) -> String {
        let tenths = Int((min(max(value, -1e6), 1e6) * 10).rounded())
        guard tenths % 10 != 0 else { return String(tenths / 10) }
        return "\(tenths < 0 ? "-" : "")\(tenths.magnitude / 10).\(tenths.magnitude % 10)"
    }
}

/// One process: from its start to its last fault, and on if it went on.
private struct Lane {
    var entries: [HTMLReportPage.Entry]
    /// When it started.
    var start: Timestamp { entries.map { min($0.started, $0.time) }.min() ?? newest.time }
    /// Whether it was there after its last fault: a restart in place keeps the process.
    var wentOn: Bool { [.resume, .restart, .wait].contains(newest.decision) }
    var newest: HTMLReportPage.Entry { entries[0] }
    var last: Timestamp { entries.map(\.last).max() ?? newest.last }

    private struct Key: Hashable {
        var host: String
        var process: String
        var pid: Int
    }

    /// The processes, the one with the newest fault first; a restart in place keeps the process.
    static func lanes(of entries: [HTMLReportPage.Entry]) -> [Lane] {
        let lanes = Dictionary(grouping: entries) { Key(host: $0.host, process: $0.process, pid: $0.pid) }.values.map {
            Lane(entries: $0)
        }
        return lanes.sorted { ($0.last, $0.newest.id.rawValue) > ($1.last, $1.newest.id.rawValue) }
    }
}
