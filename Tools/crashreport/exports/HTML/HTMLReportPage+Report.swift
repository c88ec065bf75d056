internal import CrashReports
internal import ReportText

/// A report in full.
extension HTMLReportPage {
    func addReport(_ report: CrashReport, isOpen: Bool, isWhole: Bool = true, to html: inout HTMLText) {
        html.element("details", ["class": "report", "id": "r-\(report.id)", "open": isOpen ? "" : nil]) { html in
            html.element("summary") { html in
                html.element("h4") { html in
                    html.element("time", ["datetime": report.timestamp.description], text: zone.brief(report.timestamp))
                    html.text(" \(report.process.name) \(report.process.pid) on \(report.host.name)", limit: 200)
                }
                addChip(report.verdict.decision, 1, to: &html)
                if report.occurrences.count > 1 {
                    html.element("span", ["class": "quiet"], text: "\(report.occurrences.count) times")
                }
            }
            html.element("div", ["class": "inner"]) { html in
                addDiagnosis(report, to: &html)
                if let stall = report.stall { addProfile(stall, to: &html) }
                if report.hasThread { addThread(report.thread, of: report, hasFaulted: true, to: &html) }
                addFacts(report, to: &html)
                if let stall = report.stall { addLateness(stall, to: &html) }
                guard isWhole else {
                    html.element("p", ["class": "note"]) { html in
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
        html.element("div", ["class": "diagnosis"]) { html in
            html.element("p", ["class": "summary"], text: report.diagnosis?.summary ?? report.reason)
            if let next = report.diagnosis?.next, !next.isEmpty {
                html.element("ul") { html in
                    for step in next.prefix(10) { html.element("li", text: step) }
                }
            }
            if let said = report.fault?.exception?.text ?? report.fault?.message {
                html.element("pre", ["class": "said"]) { $0.lines(said, limit: 8000) }
            }
        }
    }

    private func addFacts(_ report: CrashReport, to html: inout HTMLText) {
        html.element("h5", text: "The \(report.kind.event)")
        var text = ReportText(report)
        text.layout.zone = zone
        html.element("dl", ["class": "facts"]) { html in
            // What was said is in the box above.
            for (name, text) in text.facts() where !["message", "exception"].contains(name) {
                let isCode = ["command", "program", "report"].contains(name)
                fact(name.prefix(1).uppercased() + name.dropFirst(), text, isCode: isCode, to: &html)
            }
        }
    }

    func fact(_ name: String, _ value: String, isCode: Bool = false, to html: inout HTMLText) {
        guard !value.isEmpty else { return }
        html.element("div") { html in
            html.element("dt", text: name, limit: 100)
            html.element("dd") { html in
                if isCode { html.element("code", text: value) } else { html.text(value) }
            }
        }
    }
}
