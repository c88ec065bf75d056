internal import CrashReports

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
                    html.element("span", ["class": "quiet"], text: "\(HTMLWords.count(report.occurrences.count)) times")
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
        html.element("dl", ["class": "facts"]) { html in
            if let stall = report.stall {
                for said in stall.facts() {
                    fact(said.name.prefix(1).uppercased() + said.name.dropFirst(), said.text, to: &html)
                }
            } else if let fault = report.fault {
                let number = "fault \(fault.number) of its process"
                fact("Signal", "\(fault.signal.name) (\(fault.code.name)), \(number)", to: &html)
                if let address = fault.address {
                    let kind = fault.addressKind.map { ", \($0.rawValue)" } ?? ""
                    let access = [.none, .unknown].contains(fault.access) ? "" : "\(fault.access.rawValue) at "
                    fact("Access", "\(access)\(address)\(kind)", to: &html)
                }
                if let sender = fault.sender { fact("Sent by", "pid \(sender.pid), user \(sender.uid)", to: &html) }
            }
            fact("Verdict", "\(HTMLWords.outcome(report.verdict.decision)): \(report.verdict.reason)", to: &html)
            if let recovery = report.recovery { addRecovery(recovery, to: &html) }
            if let loop = report.loop { addLoop(loop, to: &html) }
            addProcess(report, to: &html)
            fact("Report", report.id.rawValue, isCode: true, to: &html)
        }
    }

    private func addRecovery(_ recovery: CrashReport.Recovery, to html: inout HTMLText) {
        var words: [String] = []
        if recovery.drained { words.append("the process drained before it was restarted") }
        if recovery.quarantined { words.append("the item was taken out of its loop") }
        if recovery.heldLocks > 0 { words.append("\(HTMLWords.count(recovery.heldLocks, "lock")) held") }
        if recovery.inLockFrame { words.append("inside a function that holds a lock") }
        if !recovery.touched.isEmpty { words.append("touched \(recovery.touched.joined(separator: ", "))") }
        if !words.isEmpty { fact("Recovery", words.joined(separator: "; "), to: &html) }
    }

    private func addLoop(_ loop: CrashReport.LoopState, to html: inout HTMLText) {
        var words = "\(loop.mode), \(loop.activity)"
        if let callout = loop.callout {
            let label = callout.label.isEmpty ? "" : " “\(callout.label)”"
            words += ", in \(callout.kind.rawValue)\(label) (item \(callout.item))"
        }
        fact("Loop", "\(words), pass \(HTMLWords.count(loop.pass))", to: &html)
    }

    private func addProcess(_ report: CrashReport, to html: inout HTMLText) {
        let process = report.process
        let restarts = process.restarts == 0 ? "" : ", restarted \(HTMLWords.count(process.restarts, "time")) before"
        fact(
            "Process",
            "\(process.name) \(process.pid), up \(HTMLWords.duration(process.uptimeSeconds))\(restarts)",
            to: &html
        )
        fact("Command", process.arguments.joined(separator: " "), isCode: true, to: &html)
        fact("Program", process.executable + (process.buildID.map { ", build \($0)" } ?? ""), isCode: true, to: &html)
        let host = report.host
        fact(
            "Host",
            "\(host.name), \(host.os), Linux \(host.kernel), \(host.architecture), "
                + HTMLWords.count(host.processors, "processor"),
            to: &html
        )
        let versions = [
            "Holdfast \(report.runtime.holdfast)", report.runtime.swift.map { "Swift \($0)" }, report.runtime.libc,
        ]
        fact("Runtime", versions.compactMap(\.self).joined(separator: ", "), to: &html)
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
