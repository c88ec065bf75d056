internal import CrashReports

/// The groups, each with its newest reports.
extension HTMLReportPage {
    /// What filters the page; the script shows it, for without one it would do nothing.
    func addTools(to html: inout HTMLText) {
        guard !entries.isEmpty else { return }
        html.element("form.tools", ["id": "tools", "role": "search", "hidden": ""]) { html in
            html.element("label.search") { html in
                html.element("span.hidden", text: "Search in all reports")
                let hint = "Search functions, messages, hosts…"
                html.open("input", ["type": "search", "id": "search", "placeholder": hint])
            }
            html.element("fieldset") { html in
                html.element("legend.hidden", text: "Verdicts")
                for (decision, _) in Self.decisions(of: entries) {
                    let style = HTMLWords.style(decision)
                    html.element("label", ["class": "toggle \(style)"]) { html in
                        html.open("input", ["type": "checkbox", "name": "verdict", "value": style, "checked": ""])
                        html.text(" \(HTMLWords.outcome(decision))", limit: 40)
                    }
                }
            }
            html.element("button", ["type": "button", "id": "unfold"], text: "Unfold all")
            html.element("p", ["id": "found", "role": "status", "aria-live": "polite"])
        }
    }

    func addGroups(_ shown: [Group], _ full: FullReports, to html: inout HTMLText) {
        guard let first = entries.map(\.time).min(), let last = entries.map(\.last).max() else { return }
        let scale = HTMLTimeScale(first: first, last: last, left: 0, width: 120, zone: zone)
        html.element("section", ["aria-labelledby": "groups"]) { html in
            html.element("h2", ["id": "groups", "tabindex": "-1"], text: "Causes")
            for group in shown {
                let verdicts = Self.decisions(of: group.entries).map { HTMLWords.style($0.decision) }
                html.element("article.card group", ["data-verdicts": verdicts.joined(separator: " ")]) { html in
                    html.element("details") { html in
                        html.element("summary") { addGroupHead(group, scale, to: &$0) }
                        html.element("div.body") { addGroupBody(group, full, to: &$0) }
                    }
                }
            }
            let more = Count.of(groups.count - shown.count, "more cause")
            if groups.count > shown.count { html.element("p.note", text: "\(more) not shown.") }
            html.element("p.note", ["id": "nothing", "hidden": ""], text: "Nothing matches.")
        }
    }

    private func addGroupHead(_ group: Group, _ scale: HTMLTimeScale, to html: inout HTMLText) {
        let newest = group.newest
        html.element("div.head") { html in
            html.element("div.what") { html in
                html.element("h3", text: newest.reason, limit: 300)
                html.element("p.where") { $0.element("code") { $0.name(newest.location, limit: 300) } }
                html.element("p.chips") { html in
                    for (decision, count) in Self.decisions(of: group.entries) { addChip(decision, count, to: &html) }
                    if newest.kind != .stall {
                        html.element("span.quiet", text: newest.summary.subject.limited(to: 40))
                    }
                    if times.map(group.isNew) == true { html.element("span.chip new", text: "new") }
                    if newest.isQuarantined { html.element("span.quiet", text: "quarantined") }
                }
            }
            html.element("div.often") { html in
                html.element("p.count") { html in
                    html.element("b", text: String(group.count))
                    html.element("span", text: group.count == 1 ? " \(group.event)" : " \(group.event)s")
                }
                addSparkline(group, scale, to: &html)
                html.element("p.quiet", text: "last \(zone.brief(group.last))")
            }
        }
    }

    func addChip(_ decision: CrashReport.Verdict.Decision, _ count: Int, to html: inout HTMLText) {
        let words = (count > 1 ? "\(count) " : "") + HTMLWords.outcome(decision).limited(to: 40)
        html.element("span", ["class": "chip \(HTMLWords.style(decision))"], text: words)
    }

    /// How often it happened over the time of the whole page.
    private func addSparkline(_ group: Group, _ scale: HTMLTimeScale, to html: inout HTMLText) {
        let counts = Self.histogram(group.entries, scale, buckets: 30)
        let most = max(1, counts.max() ?? 1)
        addDrawing("svg.spark", "120", "26", to: &html) { html in
            html.element("line.base", ["x1": "0", "x2": "120", "y1": "25.5", "y2": "25.5"])
            for (bucket, count) in counts.enumerated() where count > 0 {
                let height = max(2, count / most * 24)
                let (x, y) = (Self.number(Double(bucket) * 4 + 0.5), Self.number(25 - height))
                html.element("rect", ["x": x, "y": y, "width": "3", "height": Self.number(height), "rx": "0.5"])
            }
        }
    }

    /// A drawing beside words that say the same.
    func addDrawing(
        _ tag: StaticString,
        _ width: String,
        _ height: String,
        to html: inout HTMLText,
        _ content: (inout HTMLText) -> Void
    ) {
        html.element(
            tag,
            [
                "viewBox": "0 0 \(width) \(height)", "width": width, "height": height, "aria-hidden": "true",
                "focusable": "false",
            ],
            content
        )
    }

    private func addGroupBody(_ group: Group, _ full: FullReports, to html: inout HTMLText) {
        html.element("p.quiet") { html in
            html.text("Fingerprint ")
            html.element("code", text: group.newest.fingerprint)
            html.text(", first \(zone.brief(group.first)), last \(zone.brief(group.last))")
            let builds = Set(group.entries.compactMap(\.build)).sorted()
            guard !builds.isEmpty else { return }
            html.text(", \(builds.count == 1 ? "build" : "builds") \(builds.prefix(5).joined(separator: ", "))")
            if builds.count > 5 { html.text(" and \(builds.count - 5) more") }
        }
        addLengths(group.entries.compactMap { full.reports[$0.id] }, to: &html)
        for entry in group.entries {
            if let written = full.html[entry.id] { html.append(written) }
        }
        addRows(of: group, full, to: &html)
    }

    /// The reports of a group that are not shown in full.
    private func addRows(of group: Group, _ full: FullReports, to html: inout HTMLText) {
        let others = group.entries.filter { full.html[$0.id] == nil }
        guard !others.isEmpty else { return }
        let shown = others.prefix(max(0, limits.rowsPerGroup - (group.entries.count - others.count)))
        html.element("details.fold") { html in
            html.element("summary", text: Count.of(others.count, "older report"))
            html.scroll("Older reports") { html in
                html.open("table")
                html.markup("<thead><tr>")
                for title in ["Report", "Time", "Process", group.event == "stall" ? "Stalls" : "Faults", "Verdict"] {
                    html.element("th", ["scope": "col"], text: title)
                }
                html.markup("</tr></thead><tbody>")
                for entry in shown {
                    html.element("tr") { html in
                        html.element("td") { $0.element("code", text: String(entry.id.rawValue.prefix(16))) }
                        for text in [zone.brief(entry.time), "\(entry.process) \(entry.pid)", String(entry.count)] {
                            html.element("td", text: text)
                        }
                        html.element("td") { addChip(entry.decision, 1, to: &$0) }
                    }
                }
                html.markup("</tbody></table>")
            }
            if others.count > shown.count {
                html.element("p.note", text: "\(others.count - shown.count) more not listed.")
            }
        }
    }
}
