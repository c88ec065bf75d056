internal import CrashReports
internal import ReportText

/// A report in full.
extension HTMLReportPage {
    private static let mostBreadcrumbs = 200
    private static let mostNames = 100

    func addReport(_ report: CrashReport, isOpen: Bool, isWhole: Bool = true, to html: inout HTMLText) {
        html.element("details.report", ["id": "r-\(report.id)", "open": isOpen ? "" : nil]) { html in
            html.element("summary") { html in
                html.element("h4") { html in
                    html.element("time", ["datetime": report.timestamp.description], text: zone.brief(report.timestamp))
                    html.text(" \(report.process.name) \(report.process.pid) on \(report.host.name)", limit: 200)
                }
                addChip(report.verdict.decision, 1, to: &html)
                if report.occurrences.count > 1 {
                    html.element("span.quiet", text: "\(report.occurrences.count) times")
                }
            }
            html.element("div.inner") { html in
                addDiagnosis(report, to: &html)
                if let stall = report.stall { addProfile(stall, to: &html) }
                if report.hasThread { addThread(report.thread, of: report, hasFaulted: true, to: &html) }
                addFacts(report, to: &html)
                if let stall = report.stall { addLateness(stall, to: &html) }
                guard isWhole else {
                    html.element("p.note") { html in
                        html.text("What went before, other threads and memory: ")
                        html.element("code", text: "crashreport show \(report.id.rawValue.prefix(16)) --full")
                    }
                    return
                }
                addBreadcrumbs(report, to: &html)
                addOtherThreads(report, to: &html)
                addContext(report, to: &html)
                addMachineState(report, to: &html)
                addImages(report, to: &html)
                addNotes(report, to: &html)
            }
        }
    }

    private func addDiagnosis(_ report: CrashReport, to html: inout HTMLText) {
        html.element("div.diagnosis") { html in
            html.element("p.summary", text: report.diagnosis?.summary ?? report.reason)
            if let next = report.diagnosis?.next, !next.isEmpty {
                html.element("ul") { html in
                    for step in next.prefix(10) { html.element("li", text: step) }
                }
            }
            if let said = report.fault?.exception?.text ?? report.fault?.message {
                html.element("pre.said") { $0.lines(said, limit: 8000) }
            }
            if let last = report.death?.lastLines(40), !last.isEmpty {
                html.element("pre.said") { $0.lines(last.joined(separator: "\n"), limit: 8000) }
            }
        }
    }

    private func addFacts(_ report: CrashReport, to html: inout HTMLText) {
        html.element("h5", text: "The \(report.kind.event)")
        var text = ReportText(report)
        text.layout.zone = zone
        // What was said is in the box above.
        let facts = text.facts().filter { !["message", "exception"].contains($0.name) }
        addFacts(facts.map { ($0.name.prefix(1).uppercased() + $0.name.dropFirst(), $0.text) }, to: &html)
    }

    /// Names and what they say; what is typed or copied is code.
    private func addFacts(_ facts: some Sequence<(String, String)>, isReport: Bool = true, to html: inout HTMLText) {
        html.element("dl.facts") { html in
            for (name, value) in facts where !value.isEmpty {
                html.element("div") { html in
                    html.element("dt", text: name, limit: 100)
                    html.element("dd") { html in
                        let isCode = isReport && ["Command", "Program", "Report"].contains(name)
                        if isCode { html.element("code", text: value) } else { html.text(value) }
                    }
                }
            }
        }
    }

    private func addBreadcrumbs(_ report: CrashReport, to html: inout HTMLText) {
        guard let context = report.context, !context.breadcrumbs.isEmpty else { return }
        let shown = context.breadcrumbs.suffix(Self.mostBreadcrumbs)
        html.fold("What went before", open: true) { html in
            let lost = context.breadcrumbs.count - shown.count + min(max(0, context.breadcrumbsLost), 1 << 30)
            if lost > 0 { html.element("p.note", text: "\(lost) earlier ones are gone.") }
            html.element("ol.crumbs") { html in
                for breadcrumb in shown { addBreadcrumb(breadcrumb, of: report, to: &html) }
                html.element("li.now") { html in
                    html.element("span.ago", text: "0 s")
                    html.element("span.kind", text: report.kind.event)
                    html.element("span.words", text: report.reason, limit: 300)
                }
            }
        }
    }

    private func addBreadcrumb(_ breadcrumb: CrashReport.Breadcrumb, of report: CrashReport, to html: inout HTMLText) {
        let isLoud = ["warning", "error", "critical"].contains(breadcrumb.level ?? "") || breadcrumb.kind == .fault
        html.element("li", ["class": isLoud ? "loud" : nil]) { html in
            let delay = ReportText(report).delay(from: report.timestamp, to: breadcrumb.time)
            html.element("span.ago", ["title": breadcrumb.time.description], text: delay)
            html.element("span.kind", text: breadcrumb.level ?? breadcrumb.kind.rawValue, limit: 40)
            html.element("span.words", text: breadcrumb.text, limit: 500)
        }
    }

    private func addContext(_ report: CrashReport, to html: inout HTMLText) {
        guard let context = report.context else { return }
        func sorted(_ names: [String: String]) -> [(String, String)] {
            names.sorted { $0.key < $1.key }.prefix(Self.mostNames).map { ($0.key, $0.value) }
        }
        let (tags, annotations) = (sorted(context.tags), sorted(context.annotations))
        if !tags.isEmpty || !annotations.isEmpty { html.element("h5", text: "What the application said") }
        if !tags.isEmpty {
            html.element("ul.tags") { html in
                for (name, value) in tags {
                    html.element("li") { html in
                        html.element("span", text: "\(name) ", limit: 100)
                        html.element("b", text: value, limit: 200)
                    }
                }
            }
        }
        if !annotations.isEmpty { addFacts(annotations, isReport: false, to: &html) }
        if !context.resources.isEmpty {
            html.element("h5", text: "What the process had")
            addFacts(context.resources.map { ($0.name, $0.text) }, to: &html)
        }
        let environment = sorted(context.environment)
        if !environment.isEmpty { html.fold("Environment") { addFacts(environment, isReport: false, to: &$0) } }
    }

    private func addMachineState(_ report: CrashReport, to html: inout HTMLText) {
        let registers = report.thread.registers
        guard !registers.isEmpty || report.fault?.instructions != nil else { return }
        html.fold("Registers") { html in
            html.element("dl.registers") { html in
                for name in RegisterNames.sorted(registers.keys).prefix(Self.mostNames) {
                    html.element("div") { html in
                        html.element("dt", text: name, limit: 20)
                        html.element("dd") { $0.element("code", text: registers[name]?.padded ?? "") }
                    }
                }
            }
            for memory in ([report.fault?.instructions].compactMap(\.self) + (report.fault?.memory ?? [])).prefix(20) {
                html.element("p.quiet", text: "\(memory.about) at \(memory.address)", limit: 200)
                // Digits in pairs.
                let pairs = memory.bytes.prefix(1024).enumerated().map { $0 > 0 && $0 % 2 == 0 ? " \($1)" : "\($1)" }
                html.element("pre.bytes", text: pairs.joined())
            }
        }
    }

    private func addImages(_ report: CrashReport, to html: inout HTMLText) {
        guard !report.images.isEmpty else { return }
        html.fold(Count.of(report.images.count, "image")) { html in
            html.element("ul.images") { html in
                for image in report.images.prefix(Self.mostNames) {
                    html.element("li") { html in
                        html.element("code", text: "\(image.base.padded) \(image.path)", limit: 400)
                        if let build = image.buildID { html.element("span.quiet", text: " \(build)", limit: 80) }
                    }
                }
            }
        }
    }

    private func addNotes(_ report: CrashReport, to html: inout HTMLText) {
        guard !report.notes.isEmpty else { return }
        html.element("h5", text: "Notes")
        html.element("ul.notes") { html in
            for note in report.notes.prefix(20) { html.element("li", text: note) }
        }
    }
}
