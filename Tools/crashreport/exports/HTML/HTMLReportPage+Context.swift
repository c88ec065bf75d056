internal import CrashReports
internal import ReportText

/// What went before, and what the process had.
extension HTMLReportPage {
    private static let mostBreadcrumbs = 200
    private static let mostNames = 100

    func addBreadcrumbs(_ report: CrashReport, to html: inout HTMLText) {
        guard let context = report.context, !context.breadcrumbs.isEmpty else { return }
        let shown = context.breadcrumbs.suffix(Self.mostBreadcrumbs)
        html.element("details", ["class": "fold", "open": ""]) { html in
            html.element("summary") { html in
                html.element("h5", text: "What went before")
            }
            let lost = context.breadcrumbs.count - shown.count + min(max(0, context.breadcrumbsLost), 1 << 30)
            if lost > 0 {
                html.element("p", ["class": "note"], text: "\(lost) earlier ones are gone.")
            }
            html.element("ol", ["class": "crumbs"]) { html in
                for breadcrumb in shown { addBreadcrumb(breadcrumb, of: report, to: &html) }
                html.element("li", ["class": "now"]) { html in
                    html.element("span", ["class": "ago"], text: "0 s")
                    html.element("span", ["class": "kind"], text: report.kind.event)
                    html.element("span", ["class": "words"], text: report.reason, limit: 300)
                }
            }
        }
    }

    private func addBreadcrumb(_ breadcrumb: CrashReport.Breadcrumb, of report: CrashReport, to html: inout HTMLText) {
        let isLoud = ["warning", "error", "critical"].contains(breadcrumb.level ?? "")
        html.element("li", ["class": isLoud || breadcrumb.kind == .fault ? "loud" : nil]) { html in
            html.element(
                "span",
                ["class": "ago", "title": breadcrumb.time.description],
                text: ReportText(report).delay(from: report.timestamp, to: breadcrumb.time)
            )
            html.element("span", ["class": "kind"], text: breadcrumb.level ?? breadcrumb.kind.rawValue, limit: 40)
            html.element("span", ["class": "words"], text: breadcrumb.text, limit: 500)
        }
    }

    func addContext(_ report: CrashReport, to html: inout HTMLText) {
        guard let context = report.context else { return }
        let tags = context.tags.sorted { $0.key < $1.key }
        let annotations = context.annotations.sorted { $0.key < $1.key }
        if !tags.isEmpty || !annotations.isEmpty {
            html.element("h5", text: "What the application said")
            if !tags.isEmpty {
                html.element("ul", ["class": "tags"]) { html in
                    for (name, value) in tags.prefix(Self.mostNames) {
                        html.element("li") { html in
                            html.element("span", text: "\(name) ", limit: 100)
                            html.element("b", text: value, limit: 200)
                        }
                    }
                }
            }
            if !annotations.isEmpty {
                html.element("dl", ["class": "facts"]) { html in
                    for (name, value) in annotations.prefix(Self.mostNames) { fact(name, value, to: &html) }
                }
            }
        }
        addResources(context, to: &html)
    }

    private func addResources(_ context: CrashReport.Context, to html: inout HTMLText) {
        addNames("What the process had", context.resources, to: &html)
        let environment = context.environment.sorted { $0.key < $1.key }.prefix(Self.mostNames)
        addNames("Environment", environment.map { ($0.key, $0.value) }, isFolded: true, to: &html)
    }

    private func addNames(
        _ title: String,
        _ names: [(String, String)],
        isFolded: Bool = false,
        to html: inout HTMLText
    ) {
        guard !names.isEmpty else { return }
        func list(_ html: inout HTMLText) {
            html.element("dl", ["class": "facts"]) { html in
                for (name, value) in names { fact(name, value, to: &html) }
            }
        }
        guard isFolded else {
            html.element("h5", text: title)
            list(&html)
            return
        }
        html.element("details", ["class": "fold"]) { html in
            html.element("summary") { $0.element("h5", text: title) }
            list(&html)
        }
    }

    func addMachineState(_ report: CrashReport, to html: inout HTMLText) {
        let registers = report.thread.registers
        guard !registers.isEmpty || report.fault?.instructions != nil else { return }
        html.element("details", ["class": "fold"]) { html in
            html.element("summary") { $0.element("h5", text: "Registers") }
            html.element("dl", ["class": "registers"]) { html in
                for name in RegisterNames.sorted(registers.keys).prefix(Self.mostNames) {
                    html.element("div") { html in
                        html.element("dt", text: name, limit: 20)
                        html.element("dd") { $0.element("code", text: registers[name]?.padded ?? "") }
                    }
                }
            }
            for memory in ([report.fault?.instructions].compactMap(\.self) + (report.fault?.memory ?? [])).prefix(20) {
                html.element("p", ["class": "quiet"], text: "\(memory.about) at \(memory.address)", limit: 200)
                html.element("pre", ["class": "bytes"], text: Self.pairs(memory.bytes))
            }
        }
    }

    /// Digits in pairs.
    private static func pairs(_ digits: String) -> String {
        var text = ""
        for (place, digit) in digits.prefix(1024).enumerated() {
            if place > 0, place % 2 == 0 { text += " " }
            text.append(digit)
        }
        return text
    }

    func addImages(_ report: CrashReport, to html: inout HTMLText) {
        guard !report.images.isEmpty else { return }
        html.element("details", ["class": "fold"]) { html in
            html.element("summary") { $0.element("h5", text: Count.of(report.images.count, "image")) }
            html.element("ul", ["class": "images"]) { html in
                for image in report.images.prefix(Self.mostNames) {
                    html.element("li") { html in
                        html.element("code", text: "\(image.base.padded) \(image.path)", limit: 400)
                        if let build = image.buildID {
                            html.element("span", ["class": "quiet"], text: " \(build)", limit: 80)
                        }
                    }
                }
            }
        }
    }

    func addNotes(_ report: CrashReport, to html: inout HTMLText) {
        guard !report.notes.isEmpty else { return }
        html.element("h5", text: "Notes")
        html.element("ul", ["class": "notes"]) { html in
            for note in report.notes.prefix(20) { html.element("li", text: note) }
        }
    }
}
