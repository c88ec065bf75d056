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
            html.scroll("Flame graph") { html in
                let height = Double(graph.depth) * HTMLFlameGraph.blockHeight
                let box = "0 0 \(Int(HTMLFlameGraph.width)) \(Int(height))"
                html.element("svg.chart flame", ["viewBox": box, "role": "img", "aria-label": label]) { html in
                    for block in graph.blocks { add(block, of: graph, to: &html) }
                }
            }
        }
        let hidden = graph.hidden.addingReportingOverflow(max(0, profile.callsOmitted))
        let isKnown = hidden.partialValue > 0 && !hidden.overflow
        let more = isKnown ? "; \(Count.of(hidden.partialValue, "call")) too small to draw" : ""
        html.element("p.note", text: "\(Count.of(profile.samples, "sample")), the outermost call on top\(more).")
        html.fold("The same as text") { html in
            html.scroll("Profile as text") { html in
                html.element("pre.tree") { $0.lines(ProfileText(profile).text(), limit: 100_000) }
            }
        }
    }

    private func add(_ block: HTMLFlameGraph.Block, of graph: HTMLFlameGraph, to html: inout HTMLText) {
        let call = block.row.call
        let height = HTMLFlameGraph.blockHeight
        let (x, y) = (Self.number(block.x), Self.number(Double(block.row.depth) * height))
        html.element("g", ["class": call.isUserCode ? "yours" : nil]) { html in
            html.element("title", text: graph.title(of: block), limit: 500)
            // One drawing in another cuts off what does not fit.
            html.element(
                "svg",
                ["x": x, "y": y, "width": Self.number(block.width), "height": Self.number(height)]
            ) { html in
                let width = Self.number(max(block.width - 1, 0.5))
                html.element("rect", ["width": width, "height": Self.number(height - 1)])
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
        html.element("h4.lengths", text: "How long \(Count.of(lengths.count, "stall")) took")
        add(lengths, "Length", "Stalls", to: &html)
    }

    func addLateness(_ stall: CrashReport.Stall, to html: inout HTMLText) {
        guard let lateness = stall.ticks?.lateness, !lateness.steps.isEmpty else { return }
        html.fold("How late ticks came") { add(lateness, "Lateness", "Ticks", to: &$0) }
    }

    private func add(_ histogram: CrashReport.Histogram, _ title: String, _ counted: String, to html: inout HTMLText) {
        let lines = histogram.lines
        let most = Double(max(1, lines.map(\.count).max() ?? 1))
        html.element("table.steps") { html in
            html.markup("<thead><tr>")
            for text in [title, counted] { html.element("th", ["scope": "col"], text: text) }
            html.markup("</tr></thead><tbody>")
            for line in lines {
                html.element("tr") { html in
                    html.element("td", text: line.label)
                    html.element("td") { html in
                        let part = Double(max(0, line.count)) / most
                        addDrawing("svg.bar", "200", "10", to: &html) { html in
                            guard part > 0 else { return }
                            let width = Self.number(max(1, part * 200))
                            html.element("rect", ["width": width, "height": "10", "rx": "1"])
                        }
                        html.text(String(line.count))
                    }
                }
            }
            html.markup("</tbody>")
        }
    }
}

/// A profile as blocks: a call each, as wide as it took long, below the call that made it.
struct HTMLFlameGraph {
    /// A call as it is drawn.
    struct Block {
        var row: CrashReport.Stall.Profile.Row
        /// Where it begins and how wide it is, of ``HTMLFlameGraph/width``.
        var x: Double
        var width: Double
    }

    /// How wide the outermost calls are together.
    static let width = 1000.0
    /// How high a block is.
    static let blockHeight = 20.0
    /// What is narrower cannot be seen.
    private static let narrowest = 0.5
    private static let mostBlocks = 600
    private static let mostDepth = 64

    /// The blocks, each after the one that it lies below.
    private(set) var blocks: [Block] = []
    /// How many calls are not drawn: they are too narrow, too deep or too many.
    private(set) var hidden = 0
    /// The time that the whole width stands for, in seconds.
    let seconds: Double

    /// Takes a profile, with any depths and times.
    init(_ profile: CrashReport.Stall.Profile) {
        let rows = profile.rows
        // What is left of the width were samples without a call.
        seconds = profile.wholeSeconds(of: rows)
        // Up to where the blocks of each depth have come, and where those of their caller end; nil below what is not drawn.
        var free: [(x: Double, end: Double)?] = [(0, Self.width)]
        for row in rows {
            free.removeSubrange((row.depth + 1)...)
            // What a hostile report calls longer than its caller ends with it.
            let wanted = seconds > 0 ? max(0, row.call.seconds) / seconds * Self.width : 0
            guard let room = free[row.depth], min(wanted, room.end - room.x) >= Self.narrowest,
                row.depth < Self.mostDepth, blocks.count < Self.mostBlocks
            else {
                free.append(nil)
                hidden += 1
                continue
            }
            let width = min(wanted, room.end - room.x)
            blocks.append(Block(row: row, x: room.x, width: width))
            free[row.depth] = (room.x + width, room.end)
            free.append((room.x, room.x + width))
        }
    }

    /// How many calls are drawn one below the other at most.
    var depth: Int { (blocks.map(\.row.depth).max() ?? -1) + 1 }

    /// What a block says when somebody points at it.
    func title(of block: Block) -> String {
        let call = block.row.call
        let part = HTMLReportPage.number(min(block.width / Self.width, 1) * 100)
        let name = call.location.limited(to: 300)
        return "\(name): \(CrashReport.Stall.text(seconds: call.seconds)), \(part) %\(call.inlined ? ", inlined" : "")"
    }
}
