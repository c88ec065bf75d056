internal import CrashReports

/// The groups, each with its newest reports.
extension HTMLReportPage {
    /// What filters the page; the script shows it, for without one it would do nothing.
    func addTools(to html: inout HTMLText) {
        guard !entries.isEmpty else { return }
        html.element("form", ["class": "tools", "id": "tools", "role": "search", "hidden": ""]) { html in
            html.element("label", ["class": "search"]) { html in
                html.element("span", ["class": "hidden"], text: "Search in all reports")
                html.open(
                    "input",
                    ["type": "search", "id": "search", "placeholder": "Search functions, messages, hosts…"]
                )
            }
            html.element("fieldset") { html in
                html.element("legend", ["class": "hidden"], text: "Verdicts")
                for (decision, _) in Self.decisions(of: entries) {
                    html.element("label", ["class": "toggle \(HTMLWords.style(decision))"]) { html in
                        let value = HTMLWords.style(decision)
                        html.open("input", ["type": "checkbox", "name": "verdict", "value": value, "checked": ""])
                        html.text(" \(HTMLWords.outcome(decision))", limit: 40)
                    }
                }
            }
            html.element("button", ["type": "button", "id": "unfold"], text: "Unfold all")
            html.element("p", ["id": "found", "role": "status", "aria-live": "polite"]) { _ in }
        }
    }

    func addGroups(_ shown: [Group], _ full: FullReports, to html: inout HTMLText) {
        guard let first = entries.map(\.time).min(), let last = entries.map(\.last).max() else { return }
        let scale = HTMLTimeScale(first: first, last: last, left: 0, width: 120, zone: zone)
        html.element("section", ["aria-labelledby": "groups"]) { html in
            html.element("h2", ["id": "groups", "tabindex": "-1"], text: "Causes")
            for group in shown {
                addGroup(group, scale, full, to: &html)
            }
            if groups.count > shown.count {
                let more = Count.of(groups.count - shown.count, "more cause")
                html.element("p", ["class": "note"], text: "\(more) not shown.")
            }
            html.element("p", ["class": "note", "id": "nothing", "hidden": ""], text: "Nothing matches.")
        }
    }

    private func addGroup(
        _ group: Group,
        _ scale: HTMLTimeScale,
        _ full: FullReports,
        to html: inout HTMLText
    ) {
        let verdicts = group.decisions.map { HTMLWords.style($0.decision) }.joined(separator: " ")
        html.element("article", ["class": "card group", "data-verdicts": verdicts]) { html in
            html.element("details") { html in
                html.element("summary") { html in
                    addGroupHead(group, scale, to: &html)
                }
                addGroupBody(group, full, to: &html)
            }
        }
    }

    private func addGroupHead(_ group: Group, _ scale: HTMLTimeScale, to html: inout HTMLText) {
        let newest = group.newest
        html.element("div", ["class": "head"]) { html in
            html.element("div", ["class": "what"]) { html in
                html.element("h3", text: newest.reason, limit: 300)
                html.element("p", ["class": "where"]) { html in
                    html.element("code") { $0.name(newest.location, limit: 300) }
                }
                html.element("p", ["class": "chips"]) { html in
                    for (decision, count) in group.decisions { addChip(decision, count, to: &html) }
                    if newest.kind != .stall { html.element("span", ["class": "quiet"], text: newest.signal) }
                    if times.map(group.isNew) == true {
                        html.element("span", ["class": "chip new"], text: "new")
                    }
                    if newest.isQuarantined { html.element("span", ["class": "quiet"], text: "quarantined") }
                }
            }
            html.element("div", ["class": "often"]) { html in
                html.element("p", ["class": "count"]) { html in
                    html.element("b", text: String(group.count))
                    html.element("span", text: group.count == 1 ? " \(group.event)" : " \(group.event)s")
                }
                addSparkline(group, scale, to: &html)
                html.element("p", ["class": "quiet"], text: "last \(zone.brief(group.last))")
            }
        }
    }

    func addChip(_ decision: CrashReport.Verdict.Decision, _ count: Int, to html: inout HTMLText) {
        let words = HTMLWords.outcome(decision).limited(to: 40)
        html.element(
            "span",
            ["class": "chip \(HTMLWords.style(decision))"],
            text: count > 1 ? "\(count) \(words)" : words
        )
    }

    /// How often it happened over the time of the whole page.
    private func addSparkline(_ group: Group, _ scale: HTMLTimeScale, to html: inout HTMLText) {
        let counts = Self.histogram(group.entries, scale, buckets: 30)
        let most = max(1, counts.max() ?? 1)
        html.element(
            "svg",
            [
                "class": "spark", "viewBox": "0 0 120 26", "width": "120", "height": "26", "aria-hidden": "true",
                "focusable": "false",
            ]
        ) { html in
            html.element("line", ["class": "base", "x1": "0", "x2": "120", "y1": "25.5", "y2": "25.5"]) { _ in }
            for (bucket, count) in counts.enumerated() where count > 0 {
                let height = max(2, count / most * 24)
                html.element(
                    "rect",
                    [
                        "x": Self.number(Double(bucket) * 4 + 0.5), "y": Self.number(25 - height), "width": "3",
                        "height": Self.number(height), "rx": "0.5",
                    ]
                ) { _ in }
            }
        }
    }

    private func addGroupBody(_ group: Group, _ full: FullReports, to html: inout HTMLText) {
        html.element("div", ["class": "body"]) { html in
            html.element("p", ["class": "quiet"]) { html in
                html.text("Fingerprint ")
                html.element("code", text: group.newest.fingerprint)
                html.text(", first \(zone.brief(group.first)), last \(zone.brief(group.last))")
                let builds = Set(group.entries.compactMap(\.build)).sorted()
                if !builds.isEmpty {
                    html.text(", \(builds.count == 1 ? "build" : "builds") \(builds.prefix(5).joined(separator: ", "))")
                    if builds.count > 5 { html.text(" and \(builds.count - 5) more") }
                }
            }
            addLengths(group.entries.compactMap { full.reports[$0.id] }, to: &html)
            for entry in group.entries { if let written = full.html[entry.id] { html.append(written) } }
            addRows(of: group, full, to: &html)
        }
    }

    /// The reports of a group that are not shown in full.
    private func addRows(of group: Group, _ full: FullReports, to html: inout HTMLText) {
        let others = group.entries.filter { full.html[$0.id] == nil }
        guard !others.isEmpty else { return }
        let shown = others.prefix(max(0, limits.rowsPerGroup - (group.entries.count - others.count)))
        html.element("details", ["class": "fold"]) { html in
            html.element("summary", text: Count.of(others.count, "older report"))
            html.element("div", ["class": "scroll", "tabindex": "0", "role": "group", "aria-label": "Older reports"]) {
                html in
                html.element("table") { html in
                    html.markup("<thead><tr>")
                    for title in ["Report", "Time", "Process", group.event == "stall" ? "Stalls" : "Faults", "Verdict"]
                    {
                        html.element("th", ["scope": "col"], text: title)
                    }
                    html.markup("</tr></thead><tbody>")
                    for entry in shown {
                        html.element("tr") { html in
                            html.element("td") { $0.element("code", text: String(entry.id.rawValue.prefix(16))) }
                            html.element("td", text: zone.brief(entry.time))
                            html.element("td", text: "\(entry.process) \(entry.pid)")
                            html.element("td", text: String(entry.count))
                            html.element("td") { addChip(entry.decision, 1, to: &$0) }
                        }
                    }
                    html.markup("</tbody>")
                }
            }
            if others.count > shown.count {
                html.element(
                    "p",
                    ["class": "note"],
                    text: "\(others.count - shown.count) more not listed."
                )
            }
        }
    }
}
