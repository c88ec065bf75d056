package import CrashReports

/// A report as text for people.
///
/// What is wrong comes first, then where, then everything else.
package struct ReportText {
    /// What the text may use.
    package var layout = TextLayout.plain
    /// Whether the calls of all threads are shown; if not, those of other threads take a line each.
    package var showsAllThreads = false
    /// What the store knows of the report's group; nil where there is none.
    package var history: ReportHistory?
    /// The present, to say how long ago it was; nil to say nothing of it.
    package var now: Timestamp?
    /// The name of this machine: a source file on another one may be of another version.
    package var machine: String?
    /// Gives the source around a line, from the path of a file and the number of the line.
    package var excerpt: (String, Int) -> SourceExcerpt? = { _, _ in nil }
    /// Gives the instructions that bytes stand for, from the bytes and the address of the first.
    package var disassembly: ([UInt8], HexAddress) -> [Instruction]? = { _, _ in nil }

    let report: CrashReport

    /// An instruction, as an assembler writes it.
    package struct Instruction: Sendable, Hashable {
        /// Where it is.
        package var address: HexAddress
        /// What it does, such as `mov rax, qword ptr [rdi + 8]`.
        package var text: String

        /// Makes an instruction.
        package init(address: HexAddress, text: String) {
            self.address = address
            self.text = text
        }
    }

    /// Takes a report.
    ///
    /// - Parameter report: The report.
    package init(_ report: CrashReport) {
        self.report = report
    }

    /// Writes the text.
    ///
    /// - Returns: Lines, without any character that controls a terminal but those for colours.
    package func text() -> String {
        var output = StyledText(layout)
        addDiagnosis(to: &output)
        addHeader(to: &output)
        addFacts(to: &output)
        addExcerpt(to: &output)
        addProfile(to: &output)
        addMainThread(to: &output)
        addLengths(to: &output)
        addInstructions(to: &output)
        addBreadcrumbs(to: &output)
        addContext(to: &output)
        addOtherThreads(to: &output)
        addRegisters(to: &output)
        addMemory(to: &output)
        addImages(to: &output)
        addNotes(to: &output)
        return output.text
    }

    private func addDiagnosis(to output: inout StyledText) {
        guard let diagnosis = report.diagnosis else { return }
        output.paragraph(diagnosis.summary, .bold)
        for (index, hint) in diagnosis.next.prefix(Self.mostHints).enumerated() {
            output.paragraph(hint, first: "  \(index + 1). ", rest: "     ")
        }
        output.end()
    }

    private static let mostHints = 9

    private func addHeader(to output: inout StyledText) {
        output.add(report.reason, .bold)
        output.add(": ")
        output.end(report.verdict.decision.rawValue, report.verdict.decision.style)
        output.end()
    }

    private func addFacts(to output: inout StyledText) {
        output.field("report", "\(report.id)  \(report.fingerprint)")
        if let stall = report.stall {
            for fact in stall.facts(in: layout.zone) { output.field(fact.name, fact.text) }
        } else if let fault = report.fault {
            output.field("what", "\(fault.signal.name) (\(fault.code.name)), fault \(fault.number) of its process")
            if let address = fault.address { output.field("address", accessText(to: address, of: fault)) }
            if let message = fault.message { output.field("message", message) }
            if let exception = fault.exception { output.field("exception", exception.text) }
            if let sender = fault.sender { output.field("sender", "pid \(sender.pid), uid \(sender.uid)") }
        }
        if hasThread { output.field("where", report.location) }
        let age = now.map { ", \(Age($0, since: report.timestamp).text)" } ?? ""
        output.field("when", "\(layout.zone.stamp(report.timestamp))\(age)")
        let occurrences = report.occurrences
        if occurrences.count > 1 {
            let span = "first \(layout.zone.brief(occurrences.first)), last \(layout.zone.stamp(occurrences.last))"
            output.field("seen", "\(occurrences.count) times: \(span)")
        }
        for (index, line) in (history?.lines(in: layout.zone) ?? []).enumerated() {
            output.field(index == 0 ? "group" : "", line)
        }
        output.field("verdict", "\(report.verdict.decision.rawValue): \(report.verdict.reason)")
        if let recovery = report.recovery { addRecovery(recovery, to: &output) }
        if let loop = report.loop { output.field("loop", loopText(loop)) }
        addProcess(to: &output)
    }

    private func addRecovery(_ recovery: CrashReport.Recovery, to output: inout StyledText) {
        var sentences: [String] = []
        if recovery.drained { sentences.append("the process drained before it was restarted") }
        if recovery.quarantined { sentences.append("the item was taken out of its loop") }
        switch recovery.heldLocks {
        case 0: break
        case 1: sentences.append("a lock was held")
        default: sentences.append("\(recovery.heldLocks) locks were held")
        }
        if recovery.inLockFrame { sentences.append("it was inside a function that holds a lock") }
        if !sentences.isEmpty { output.field("recovery", sentences.joined(separator: "; ")) }
        if !recovery.touched.isEmpty { output.field("touched", recovery.touched.joined(separator: ", ")) }
    }

    private func addProcess(to output: inout StyledText) {
        let process = report.process
        let restarts = process.restarts == 0 ? "" : ", restarted \(Count.times(process.restarts)) before"
        let uptime = (process.uptimeSeconds * 10).rounded() / 10
        let parent = process.isForkedChild == true ? "a forked child of" : "parent"
        output.field("process", "\(process.name), pid \(process.pid), \(parent) \(process.parentPid)")
        output.field("", "up \(uptime) s since \(layout.zone.stamp(process.startTime))\(restarts)")
        output.field("command", process.arguments.joined(separator: " "))
        output.field("program", process.executable + (process.buildID.map { ", build \($0)" } ?? ""))
        let host = report.host
        output.field(
            "host",
            "\(host.name), \(host.os), Linux \(host.kernel), \(host.architecture), \(host.processors) processors"
        )
        let runtime = report.runtime
        let versions = ["Holdfast \(runtime.holdfast)", runtime.swift.map { "Swift \($0)" }, runtime.libc]
        output.field("runtime", versions.compactMap(\.self).joined(separator: ", "))
        let tags = report.context?.tags ?? [:]
        if !tags.isEmpty { output.field("tags", Self.pairs(tags)) }
    }

    private func accessText(to address: HexAddress, of fault: CrashReport.Fault) -> String {
        let access = fault.access
        let verb = [.none, .unknown].contains(access) ? "" : ", \(access.rawValue)"
        return address.description + (fault.addressKind.map { " (\($0.rawValue))" } ?? "") + verb
    }

    func loopText(_ loop: CrashReport.LoopState) -> String {
        var parts = ["mode \(loop.mode)", loop.activity]
        if let callout = loop.callout {
            let label = callout.label.isEmpty ? "" : " \"\(callout.label)\""
            parts.append("in \(callout.kind.rawValue)\(label) (item \(callout.item))")
        }
        return (parts + ["nesting \(loop.nesting)", "pass \(loop.pass)"]).joined(separator: ", ")
    }

    static func pairs(_ values: [String: String]) -> String {
        values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ", ")
    }
}
