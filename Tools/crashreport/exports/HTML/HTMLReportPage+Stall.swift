internal import CrashReports
internal import ReportText

/// Where the time of a stall went, and how long stalls took.
extension HTMLReportPage {
    /// Text narrower than this is no use.
    private static let narrowestText = 24.0

    func addProfile(_ stall: CrashReport.Stall, to html: inout HTMLText) {
        guard let profile = stall.profile else { return }
        let graph = HTMLFlameGraph(profile)
        html.element("h5", text: "Where the time went")
        if !graph.blocks.isEmpty {
            let label = "Flame graph of \(CrashReport.Stall.text(seconds: graph.seconds)); the same follows as text"
            html.element("div", ["class": "scroll", "tabindex": "0", "role": "group", "aria-label": "Flame graph"]) {
                html in
                let height = Double(graph.depth) * HTMLFlameGraph.blockHeight
                html.element(
                    "svg",
                    [
                        "class": "chart flame", "viewBox": "0 0 \(Int(HTMLFlameGraph.width)) \(Int(height))",
                        "role": "img",
                        "aria-label": label,
                    ]
                ) { html in
                    for block in graph.blocks { add(block, of: graph, to: &html) }
                }
            }
        }
        let samples = Count.of(profile.samples, "sample")
        let hidden = graph.hidden.addingReportingOverflow(max(0, profile.callsOmitted))
        let more =
            hidden.partialValue > 0 && !hidden.overflow
            ? "; \(Count.of(hidden.partialValue, "call")) too small to draw" : ""
        html.element("p", ["class": "note"], text: "\(samples), the outermost call on top\(more).")
        html.element("details", ["class": "fold"]) { html in
            html.element("summary") { $0.element("h5", text: "The same as text") }
            html.element("div", ["class": "scroll", "tabindex": "0", "role": "group", "aria-label": "Profile as text"])
            {
                html in
                html.element("pre", ["class": "tree"]) { $0.lines(ProfileText(profile).text(), limit: 100_000) }
            }
        }
    }

    private func add(_ block: HTMLFlameGraph.Block, of graph: HTMLFlameGraph, to html: inout HTMLText) {
        let call = block.row.call
        let height = HTMLFlameGraph.blockHeight
        html.element("g", ["class": call.isUserCode ? "yours" : nil]) { html in
            html.element("title", text: graph.title(of: block), limit: 500)
            // One drawing in another cuts off what does not fit.
            html.element(
                "svg",
                [
                    "x": Self.number(block.x), "y": Self.number(Double(block.row.depth) * height),
                    "width": Self.number(block.width), "height": Self.number(height),
                ]
            ) { html in
                html.element(
                    "rect",
                    ["width": Self.number(max(block.width - 1, 0.5)), "height": Self.number(height - 1)]
                ) { _ in }
                guard block.width >= Self.narrowestText else { return }
                html.element("text", ["x": "4", "y": "14"], text: call.name, limit: 200)
            }
        }
    }

    /// How long the stalls of a group took, as far as its reports are on the page.
    func addLengths(_ reports: [CrashReport], to html: inout HTMLText) {
        var lengths = CrashReport.Histogram()
        for stall in reports.compactMap(\.stall) { lengths.add(stall.lengths) }
        guard lengths.count > 1 else { return }
        html.element("h4", ["class": "lengths"], text: "How long \(Count.of(lengths.count, "stall")) took")
        add(lengths, "Length", "Stalls", to: &html)
    }

    func addLateness(_ stall: CrashReport.Stall, to html: inout HTMLText) {
        guard let lateness = stall.ticks?.lateness, !lateness.steps.isEmpty else { return }
        html.element("details", ["class": "fold"]) { html in
            html.element("summary") { $0.element("h5", text: "How late ticks came") }
            add(lateness, "Lateness", "Ticks", to: &html)
        }
    }

    private func add(
        _ histogram: CrashReport.Histogram,
        _ title: String,
        _ counted: String,
        to html: inout HTMLText
    ) {
        let lines = histogram.lines
        let most = Double(max(1, lines.map(\.count).max() ?? 1))
        html.element("table", ["class": "steps"]) { html in
            html.element("thead") { html in
                html.element("tr") { html in
                    for text in [title, counted] { html.element("th", ["scope": "col"], text: text) }
                }
            }
            html.element("tbody") { html in
                for line in lines {
                    html.element("tr") { html in
                        html.element("td", text: line.label)
                        html.element("td") { html in
                            addBar(Double(max(0, line.count)) / most, to: &html)
                            html.text(String(line.count))
                        }
                    }
                }
            }
        }
    }

    private func addBar(_ part: Double, to html: inout HTMLText) {
        html.element(
            "svg",
            [
                "class": "bar", "viewBox": "0 0 200 10", "width": "200", "height": "10", "aria-hidden": "true",
                "focusable": "false",
            ]
        ) { html in
            guard part > 0 else { return }
            html.element("rect", ["width": Self.number(max(1, part * 200)), "height": "10", "rx": "1"]) { _ in }
        }
    }
}
