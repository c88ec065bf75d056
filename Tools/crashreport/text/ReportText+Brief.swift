internal import CrashReports

/// A report on one screen: what is wrong, whether it is new, where, what was decided, and the program's own calls.
extension ReportText {
    /// Lines that it has at most, in a terminal of 60 columns and more.
    package static let mostBriefLines = 45
    private static let mostHints = 3
    /// Lines that a paragraph takes at most.
    private static let mostParagraph = 3
    /// Lines of source before and after the one to look at.
    private static let sourceContext = 2
    /// Calls that are shown where the source is, too.
    private static let callsBesideSource = 8

    /// Writes what somebody on call wants to know first; ``text()`` has the rest.
    ///
    /// - Returns: Lines, without any character that controls a terminal but those for colours.
    package func brief() -> String {
        var head = StyledText(layout)
        addBriefDiagnosis(to: &head)
        addBriefFacts(to: &head)
        var foot = StyledText(layout)
        foot.end()
        foot.end(
            cut("--full shows the rest: what went before, threads, registers, memory, images", 0),
            .faint
        )
        let room = Self.mostBriefLines - head.lineCount - foot.lineCount
        // A blank line and a title stand above each part.
        let source = briefSource(within: room - Self.callsBesideSource - 2)
        let calls = briefCalls(within: room - source.lineCount - 2)
        return head.text + source.text + calls.text + foot.text
    }

    /// A text in what a line has left.
    private func cut(_ text: String, _ taken: Int) -> String {
        guard let width = layout.width else { return text }
        return layout.visible(text).cut(max(20, width - taken), layout.ellipsis)
    }

    private func addBriefDiagnosis(to output: inout StyledText) {
        if let diagnosis = report.diagnosis {
            output.paragraph(diagnosis.summary, .bold, most: Self.mostParagraph)
            for (index, hint) in diagnosis.next.prefix(Self.mostHints).enumerated() {
                output.paragraph(hint, first: "  \(index + 1). ", rest: "     ", most: Self.mostParagraph)
            }
            output.end()
        }
        let decision = report.verdict.decision
        output.add(cut(report.reason, decision.rawValue.count + 2), .bold)
        output.add(": ")
        output.end(cut(decision.rawValue, 0), decision.style)
        output.end()
    }

    private func addBriefFacts(to output: inout StyledText) {
        func field(_ label: String, _ value: String) { output.field(label, cut(value, 10)) }
        field("report", "\(report.id)  \(report.fingerprint)")
        if let stall = report.stall {
            for fact in stall.facts(in: layout.zone).prefix(4) { field(fact.name, fact.text) }
        } else if let fault = report.fault {
            field("what", "\(fault.signal.name) (\(fault.code.name)), fault \(fault.number) of its process")
            if let message = fault.message { field("message", message) }
            if let exception = fault.exception { field("exception", exception.text) }
            if let sender = fault.sender { field("sender", "pid \(sender.pid), uid \(sender.uid)") }
        }
        if hasThread { field("where", report.location) }
        let age = now.map { ", \(Age($0, since: report.timestamp).text)" } ?? ""
        field("when", layout.zone.stamp(report.timestamp) + age)
        for (index, line) in groupLines.enumerated() { field(index == 0 ? "group" : "", line) }
        field("verdict", "\(report.verdict.decision.rawValue): \(report.verdict.reason)")
        if let loop = report.loop { field("loop", loopText(loop)) }
        let process = report.process
        let restarts = process.restarts == 0 ? "" : ", restarted \(Count.times(process.restarts)) before"
        let uptime = CrashReport.Stall.text(seconds: process.uptimeSeconds)
        field("process", "\(process.name), pid \(process.pid) on \(report.host.name), up \(uptime)\(restarts)")
        if let build = process.buildID { field("program", "\(process.executable), build \(build.prefix(12))") }
    }

    /// What the group of the report knows, else what the report itself counts.
    var groupLines: [String] {
        if let history { return history.lines(in: layout.zone) }
        let seen = report.occurrences
        guard seen.count > 1 else { return [] }
        return ["\(seen.count) times: first \(layout.zone.brief(seen.first)), last \(layout.zone.stamp(seen.last))"]
    }

    private func briefSource(within room: Int) -> StyledText {
        var output = StyledText(layout)
        // Less than the line itself with one before and one after it says nothing.
        guard room >= 5 else { return output }
        addExcerpt(to: &output, around: min(Self.sourceContext, (room - 3) / 2))
        return output
    }

    private func briefCalls(within room: Int) -> StyledText {
        var output = StyledText(layout)
        if let profile = report.stall?.profile {
            let title = "\(CrashReport.Stall.text(seconds: profile.seconds)), \(Count.of(profile.samples, "sample"))"
            output.heading("Where the time went: \(title)")
            ProfileText(profile).writeBriefly(to: &output, within: room)
            return output
        }
        guard hasThread else { return output }
        let thread = report.thread
        let name = thread.name.map { " \"\($0)\"" } ?? ""
        output.heading(cut("Thread \(thread.id)\(name)\(thread.isMain ? ", the main thread" : "")", 0))
        for line in OwnCalls(thread, within: room).lines { write(line, to: &output) }
        return output
    }

    private func write(_ line: OwnCalls.Line, to output: inout StyledText) {
        switch line {
        case .call(let frame):
            let source = Self.sourceText(of: frame).map { " at \($0)" } ?? ""
            let name = frame.function ?? frame.imageLocation ?? frame.address.description
            let mark = frame.isApplicationCode ? "> " : "  "
            // A long name gives way to its place in the source.
            let room = max(20, (layout.width ?? .max) - mark.count - DisplayWidth.of(layout.visible(source)))
            output.add(mark, .bold)
            output.add(layout.visible(name).cut(room, layout.ellipsis), frame.isApplicationCode ? .bold : .plain)
            output.end(source, frame.isApplicationCode ? .cyan : .plain)
        case .others(let text): output.end(cut("  \(layout.gap) \(text)", 0), .faint)
        }
    }
}

/// The calls of a thread, those of the program one by one, and what lies between them counted.
struct OwnCalls {
    /// A line of it.
    enum Line {
        /// A call that is shown.
        case call(CrashReport.Frame)
        /// What stands for several calls, such as `6 frames of Holdfast`.
        case others(String)
    }

    /// The lines, the innermost call first.
    private(set) var lines: [Line] = []

    /// Takes a thread of any report.
    ///
    /// - Parameters:
    ///   - thread: The thread.
    ///   - room: How many lines may be made.
    init(_ thread: CrashReport.Thread, within room: Int) {
        let frames = thread.frames.filter { $0.runtimeFailure == nil }
        let hasOwn = frames.contains(where: \.isApplicationCode)
        var folded: [CrashReport.Frame] = []
        for run in FrameRuns(frames) {
            // A program without names has nothing to look at but what it called.
            guard !hasOwn || run.frames.contains(where: \.isApplicationCode) else {
                folded += run.frames
                continue
            }
            fold(folded)
            folded = []
            let (head, omitted, tail) = ReportText.parts(of: run)
            lines += head.map(Line.call)
            if omitted > 0 {
                lines.append(.others("\(omitted) more calls of the same" + (run.period == 1 ? "" : " \(run.period)")))
            }
            lines += tail.map(Line.call)
        }
        fold(folded)
        if thread.frames.isEmpty { lines.append(.others("no frames")) }
        if thread.framesTruncated { lines.append(.others("the walk ended before the end of the stack")) }
        shorten(to: max(3, room))
    }

    /// Who the frames belong to, in their order: `6 frames of Holdfast, 3 of libc`.
    private mutating func fold(_ frames: [CrashReport.Frame]) {
        var counts: [(owner: FrameOwner, count: Int)] = []
        for frame in frames {
            let owner = FrameOwner(of: frame)
            if let known = counts.firstIndex(where: { $0.owner == owner }) {
                counts[known].count += 1
            } else {
                counts.append((owner, 1))
            }
        }
        guard let first = counts.first else { return }
        let others = counts.dropFirst().prefix(3).map { ", \($0.count) of \($0.owner.name)" }
        let more = counts.dropFirst(4).reduce(0) { $0 + $1.count }
        let rest = others.joined() + (more > 0 ? ", \(more) of others" : "")
        lines.append(.others("\(Count.of(first.count, "frame")) of \(first.owner.name)\(rest)"))
    }

    /// Two thirds of the lines are for the innermost calls, the rest for the outermost.
    private mutating func shorten(to room: Int) {
        guard lines.count > room else { return }
        let head = max(1, (room - 1) * 2 / 3)
        let tail = room - 1 - head
        let left = Line.others("\(lines.count - head - tail) more lines")
        lines = lines.prefix(head) + [left] + lines.suffix(tail)
    }
}
