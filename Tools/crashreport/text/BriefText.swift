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
        addHeader(to: &head, hints: Self.mostHints, lines: Self.mostParagraph)
        for fact in facts(isBrief: true) { head.field(fact.name, cut(fact.text, 10)) }
        var foot = StyledText(layout)
        foot.end()
        let parts = rest.isEmpty ? "" : ": " + rest.joined(separator: ", ")
        foot.end(cut("--full shows the rest\(parts)", 0), .faint)
        let room = Self.mostBriefLines - head.lineCount - foot.lineCount
        // A blank line and a title stand above each part.
        let source = briefSource(within: room - Self.callsBesideSource - 2)
        let calls = briefCalls(within: room - source.lineCount - 2)
        return head.text + source.text + calls.text + foot.text
    }

    /// What the report has besides, in the order of the whole text.
    private var rest: [String] {
        let parts: [(String, Bool)] = [
            ("what went before", report.context?.breadcrumbs.isEmpty == false),
            ("threads", hasThread || !report.otherThreads.isEmpty),
            ("registers", !report.thread.registers.isEmpty),
            ("memory", report.fault?.memory?.isEmpty == false),
            ("images", !report.images.isEmpty),
            ("tasks", report.tasks != nil),
        ]
        return parts.filter(\.1).map(\.0)
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
        if report.kind == .death { addLastOutput(to: &output, most: max(3, min(12, room))) }
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
