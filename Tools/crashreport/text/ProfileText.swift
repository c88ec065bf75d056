package import CrashReports

/// A profile as a tree of text: the heaviest path first, indented only where paths part.
package struct ProfileText: Sendable {
    private let profile: CrashReport.Stall.Profile

    /// Takes a profile.
    ///
    /// - Parameter profile: The profile.
    package init(_ profile: CrashReport.Stall.Profile) {
        self.profile = profile
    }

    /// Writes the tree.
    ///
    /// - Parameter layout: What it may use.
    /// - Returns: Lines, without any character that controls a terminal but those for colours.
    package func text(_ layout: TextLayout = .plain) -> String {
        var output = StyledText(layout)
        write(to: &output)
        return output.text
    }

    func write(to output: inout StyledText) {
        let (outline, layout) = (ProfileOutline(profile), output.layout)
        let times = outline.lines.map { CrashReport.Stall.text(seconds: $0.row.call.seconds) }
        let width = min(16, times.map(\.count).max() ?? 0)
        let margin = String(repeating: " ", count: 10 + width + 2)
        var next = 0
        while next < outline.lines.count {
            let chain = Self.chain(outline.lines[next...])
            for run in FrameRuns(Self.frames(of: chain)) {
                let (head, omitted, tail) = ReportText.parts(of: run)
                for frame in head { add(outline, chain.startIndex + frame.index, times, width, to: &output) }
                if omitted > 0 {
                    let what = run.period == 1 ? "the same" : "the same \(run.period) functions"
                    let branches = chain.last?.branches.map { Self.glyph($0.below, layout) }.joined() ?? ""
                    output.end("\(margin)\(branches)\(layout.gap) \(omitted) more calls of \(what)", .faint)
                }
                for frame in tail { add(outline, chain.startIndex + frame.index, times, width, to: &output) }
            }
            next = chain.endIndex
        }
        if outline.tiny > 0 {
            let each = outline.tiny == 1 ? "" : " each"
            output.end("\(margin)\(layout.gap) \(Count.of(outline.tiny, "call")) of less than 1 %\(each)", .faint)
        }
        let more = outline.more.addingClamped(max(0, profile.callsOmitted))
        if more > 0 { output.end("\(margin)\(layout.gap) \(Count.of(more, "more call"))", .faint) }
    }

    /// Writes the tree from where its paths part, the calls before that counted, in so many lines at most.
    ///
    /// A profile of one path begins with the program's last call in it: what that calls is to blame.
    func writeBriefly(to output: inout StyledText, within room: Int) {
        let outline = ProfileOutline(profile)
        let chain = Self.chain(outline.lines[...])
        let fork = max(0, chain.endIndex - 1)
        let start = chain.endIndex < outline.lines.count ? fork : chain.lastIndex { $0.row.call.isUserCode } ?? fork
        let shown = outline.lines[start...].prefix(max(1, room - 3))
        let times = outline.lines.map { CrashReport.Stall.text(seconds: $0.row.call.seconds) }
        let width = min(16, shown.indices.map { times[$0].count }.max() ?? 0)
        let margin = String(repeating: " ", count: 10 + width + 2)
        func note(_ text: String) { output.end("\(margin)\(output.layout.gap) \(text)", .faint) }
        if start > 0 { note("\(Count.of(start, "caller")) of it") }
        for index in shown.indices { add(outline, index, times, width, to: &output, isBrief: true) }
        let more = (outline.lines.count - shown.endIndex).addingClamped(outline.tiny).addingClamped(outline.more)
        let all = more.addingClamped(max(0, profile.callsOmitted))
        if all > 0 { note(Count.of(all, "more call")) }
    }

    private typealias Lines = ArraySlice<ProfileOutline.Line>

    /// The lines at the start that are one path.
    private static func chain(_ lines: Lines) -> Lines {
        let end = lines.firstIndex { !$0.hasOnlyChild } ?? lines.endIndex
        return lines[lines.startIndex..<min(lines.endIndex, end + 1)]
    }

    /// What finds recursions knows frames.
    private static func frames(of lines: Lines) -> [CrashReport.Frame] {
        lines.enumerated().map { CrashReport.Frame($1.row.call, index: $0) }
    }

    private func add(
        _ outline: ProfileOutline,
        _ index: Int,
        _ times: [String],
        _ width: Int,
        to output: inout StyledText,
        isBrief: Bool = false
    ) {
        let (row, layout) = (outline.lines[index].row, output.layout)
        let call = row.call
        let percent = outline.percent(call.seconds).map { "\($0) %" } ?? ""
        output.add(call.isUserCode ? "> " : "  ", .bold)
        output.add(percent.leftPadded(6) + "  " + times[index].leftPadded(width) + "  ", .faint)
        let branches = outline.lines[index].branches.map { Self.glyph($0, layout) }.joined()
        output.add(branches, .faint)
        if isBrief {
            let source = call.sourceLocation.map { " at \($0)" } ?? ""
            let room = (layout.width ?? .max) - 12 - width - branches.count - DisplayWidth.of(layout.visible(source))
            let name = layout.visible(call.name).cut(max(16, room), layout.ellipsis)
            output.add(name, call.isUserCode ? .bold : .plain)
            return output.end(source, call.isUserCode ? .cyan : .plain)
        }
        output.add(call.name, call.isUserCode ? .bold : .plain)
        if call.inlined { output.add(" [inlined]", .faint) }
        if let source = call.sourceLocation {
            output.add(" at ")
            output.add(source, call.isUserCode ? .cyan : .plain)
        }
        var notes = Self.otherLines(of: call)
        // Where paths part or end little, what they took together does not tell what the call took itself.
        if row.ownSeconds >= outline.whole * 0.01, row.ownSeconds < call.seconds * 0.995 {
            notes.append("\(CrashReport.Stall.text(seconds: row.ownSeconds)) in itself")
        }
        if !notes.isEmpty { output.add(" (\(notes.joined(separator: ", ")))", .faint) }
        if let image = call.imageName, call.function != nil { output.add(" in \(image)", .faint) }
        output.end()
    }

    /// The lines after the heaviest one, as far as they count.
    private static func otherLines(of call: CrashReport.Stall.Call) -> [String] {
        let others = call.lines.dropFirst().prefix(2).filter { $0.seconds >= call.seconds * 0.05 && $0.line > 0 }
        return others.map { "line \($0.line): \(CrashReport.Stall.text(seconds: $0.seconds))" }
    }

    private static func glyph(_ branch: ProfileOutline.Branch, _ layout: TextLayout) -> String {
        switch branch {
        case .passing: layout.isUnicode ? "│ " : "| "
        case .none: "  "
        case .begin: layout.isUnicode ? "├ " : "+ "
        case .last: layout.isUnicode ? "└ " : "` "
        }
    }
}

extension CrashReport.Stall.Call {
    /// The name of the source file and the line that took longest, such as `File.swift:12`, if they are known.
    var sourceLocation: String? {
        guard let file, let source = file.split(separator: "/").last, !source.hasPrefix("<") else { return nil }
        guard let line = lines.first?.line, line > 0 else { return String(source) }
        return "\(source):\(line)"
    }
}
