internal import CrashReports

/// The top of the page: what it is about, in a few figures.
extension HTMLReportPage {
    func addHeader(_ subject: String, to html: inout HTMLText) {
        html.element("header", ["class": "top"]) { html in
            html.markup(Self.mark)
            html.element("div", ["class": "title"]) { html in
                html.element("h1", text: "Crash reports")
                html.element("p", ["class": "subject"]) { html in
                    html.text(subject, limit: 300)
                    if let span { html.text(" · \(span)") }
                }
            }
        }
        guard !entries.isEmpty else { return }
        html.element("section", ["class": "figures", "aria-label": "In short"]) { html in
            // Stalls have a figure of their own, by their verdict.
            let total = entries.filter { $0.kind != .stall }.reduce(0) { $0 + $1.count }
            if total > 0 { figure(String(total), total == 1 ? "fault" : "faults", to: &html) }
            figure(String(groups.count), groups.count == 1 ? "cause" : "causes", to: &html)
            for (decision, count) in Self.decisions(of: entries) {
                figure(String(count), HTMLWords.outcome(decision), HTMLWords.style(decision), to: &html)
            }
            let quarantined = entries.filter(\.isQuarantined).count
            if quarantined > 0 { figure(String(quarantined), "quarantined", to: &html) }
        }
    }

    private func figure(_ number: String, _ words: String, _ style: String = "plain", to html: inout HTMLText) {
        html.element("div", ["class": "figure \(style)"]) { html in
            html.element("b", text: number)
            html.element("span", text: words, limit: 40)
        }
    }

    /// From the first to the last fault.
    private var span: String? {
        guard let begin = entries.map(\.time).min(), let end = entries.map(\.last).max() else { return nil }
        let (first, last) = (zone.civil(begin), zone.civil(end))
        guard first.brief.prefix(16) != last.brief.prefix(16) else { return zone.stamp(begin) }
        let sameDay = first.brief.prefix(10) == last.brief.prefix(10)
        let ending = (sameDay ? HTMLWords.clock(last) : last.brief).dropLast(3)
        return "\(first.brief.dropLast(3)) to \(ending) \(zone.name(at: end))"
    }

    /// A kelp on its rock, in a storm.
    private static let mark: StaticString = """
        <svg class="mark" viewBox="0 0 40 40" width="40" height="40" aria-hidden="true" focusable="false">\
        <rect width="40" height="40" rx="9" class="mark-ground"/>\
        <path class="mark-kelp" d="M17 30c-5-6 5-9 0-15 0-4 3-6 5-8M23 30c5-5-3-8 1-13 2-2 4-3 5-6M19 30c-5-3-9-5-8-11"/>\
        <path class="mark-rock" d="M7 34c2-5 7-6 13-6s11 1 13 6z"/></svg>
        """
}
