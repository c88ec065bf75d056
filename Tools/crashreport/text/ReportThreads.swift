package import CrashReports

/// The parts of the text that are about a thread's calls.
extension ReportText {
    func addThread(_ thread: CrashReport.Thread, title: String = "Thread", to output: inout StyledText) {
        let name = thread.name.map { " \"\($0)\"" } ?? ""
        let state = states(of: thread)
        let role = thread.isMain ? ", the main thread" : ""
        output.heading((["\(title) \(thread.id)\(name)\(role)"] + state).joined(separator: ", "))
        let digits = String(thread.frames.last?.index ?? 0).count
        let margin = String(repeating: " ", count: digits + 3)
        var next = 0
        for run in FrameRuns(thread.frames) {
            let frames = run.frames
            if let first = frames.first, first.index > next {
                output.end("\(margin)\(layout.gap) \(first.index &- next) frames are left out", .faint)
            }
            let (head, omitted, tail) = Self.parts(of: run)
            for frame in head { addFrame(frame, digits, to: &output) }
            if omitted > 0 {
                let what = run.period == 1 ? "the same" : "the same \(run.period) functions"
                output.end("\(margin)\(layout.gap) \(omitted) more calls of \(what)", .faint)
            }
            for frame in tail { addFrame(frame, digits, to: &output) }
            next = (frames.last?.index ?? next) &+ 1
        }
        if thread.frames.isEmpty { output.end("  no frames") }
        if thread.framesTruncated { output.end("  the walk ended before the end of the stack") }
    }

    package typealias Frames = ArraySlice<CrashReport.Frame>

    /// A recursion is told by its head, its length and its tail.
    package static func parts(of run: FrameRuns.Run) -> (head: Frames, omitted: Int, tail: Frames) {
        let head = run.frames.prefix(run.period == 1 ? 2 : run.period)
        let tail = run.frames.suffix(run.period)
        guard head.endIndex <= tail.startIndex, let last = head.last, let next = tail.first else {
            return (run.frames, 0, [])
        }
        let (distance, isOverflow) = next.index.subtractingReportingOverflow(last.index)
        // Six calls are as quickly read as what would stand for them, unless some are missing.
        guard !isOverflow, run.frames.count > 6 || distance > run.frames.count, distance > 2 else {
            return (run.frames, 0, [])
        }
        return (head, distance - 1, tail)
    }

    private func addFrame(_ frame: CrashReport.Frame, _ digits: Int, to output: inout StyledText) {
        let style: StyledText.Style = frame.isApplicationCode ? .bold : .plain
        // Without colours, the mark makes user code stand out.
        output.add(frame.isApplicationCode ? "> " : "  ", .bold)
        output.add(String(frame.index).leftPadded(digits) + "  ", .faint)
        output.add(frame.function ?? frame.imageLocation ?? frame.address.description, style)
        if let offset = frame.functionOffset { output.add(" + \(offset)", .faint) }
        if frame.inlined { output.add(" [inlined]", .faint) }
        if let role = frame.asyncRole { output.add(" [\(role)]", .faint) }
        if let source = Self.sourceText(of: frame) {
            output.add(" at ")
            output.add(source, frame.isApplicationCode ? .cyan : .plain)
        }
        if let image = frame.imageName, frame.function != nil { output.add(" in \(image)", .faint) }
        output.end()
    }

    func addExcerpt(to output: inout StyledText, around context: Int = .max) {
        guard let (file, line) = sourcePlace, let found = excerpt(file, line) else { return }
        let isElsewhere = machine.map { $0 != report.host.name } ?? false
        let path = context == .max ? file : file.cut(max(20, (layout.width ?? .max) - 28), layout.ellipsis)
        let isNewer = found.modified / 1000 > report.timestamp.microsecondsSinceEpoch
        let caveat = isElsewhere ? " (as it is on this machine)" : isNewer ? " (changed since)" : ""
        output.heading(path + caveat)
        let lines = found.lines.filter { ($0.number - line).magnitude <= context }
        let digits = lines.map { String($0.number).count }.max() ?? 0
        for shown in lines {
            output.add(shown.number == line ? "> " : "  ", .bold)
            output.add(String(shown.number).leftPadded(digits) + " | ", .faint)
            // A line on one screen is not wider than it.
            let room = context == .max ? 200 : max(20, (layout.width ?? 205) - digits - 5)
            output.end(shown.text.cut(room, layout.ellipsis), shown.number == line ? .bold : .plain)
        }
    }

    /// The file and the line to look at.
    private var sourcePlace: (file: String, line: Int)? {
        if let culprit = report.stall?.profile?.culprit, let file = culprit.file, let line = culprit.lines.first?.line {
            return (file, line)
        }
        let frame = report.thread.frames.first { $0.isApplicationCode && $0.file != nil && $0.line != nil }
        guard let file = frame?.file, let line = frame?.line else { return nil }
        return (file, line)
    }

    static func sourceText(of frame: CrashReport.Frame) -> String? {
        // The compiler names what it made itself `<compiler-generated>`.
        guard let source = frame.sourceLocation, !source.hasPrefix("<") else { return nil }
        return frame.column.map { frame.line == nil ? source : "\(source):\($0)" } ?? source
    }

    /// What a thread was doing, such as `sleeping in futex`.
    static func stateText(of thread: CrashReport.Thread) -> String? {
        let call = thread.systemCall.map { "in \($0)" }
        let parts = [thread.state?.rawValue, call].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }

    /// What is known of a thread's state, and when it was looked at.
    package func states(of thread: CrashReport.Thread) -> [String] {
        let delay = thread.sampledAfter.flatMap { $0.isFinite ? ($0 * 10000).rounded() / 10 : nil }
        return [Self.stateText(of: thread), delay.map { "taken \($0) ms after the \(report.kind.event)" }]
            .compactMap(\.self)
    }

    // MARK: The part of the text that is about the threads that did not fault

    /// Where others would fill the screen.
    private static let mostLines = 100

    func addOtherThreads(to output: inout StyledText) {
        let others = report.otherThreads
        guard !others.isEmpty || report.threadsOmitted > 0 else { return }
        if showsAllThreads {
            for thread in others { addThread(thread, to: &output) }
        } else if !others.isEmpty {
            output.heading("Other threads (--all-threads shows their calls)")
            let columns: [AlignedTable.Column] = [
                .init(title: "THREAD", isNumeric: true), .init(title: "NAME", narrowest: 8),
                .init(title: "STATE", narrowest: 8), .init(title: "WHERE", narrowest: 12),
            ]
            let rows = others.prefix(Self.mostLines).map { thread in
                [
                    String(thread.id), (thread.name ?? "") + (thread.isMain ? " (main)" : ""),
                    Self.stateText(of: thread) ?? "", thread.location,
                ].map { AlignedTable.Cell(text: $0) }
            }
            AlignedTable(columns, Array(rows), layout).write(to: &output, titleStyle: .faint)
        }
        let hidden = showsAllThreads ? 0 : max(0, others.count - Self.mostLines)
        if hidden > 0 { output.end("  \(layout.gap) \(Count.of(hidden, "more thread"))", .faint) }
        if report.threadsOmitted > 0 {
            output.end("  \(Count.of(report.threadsOmitted, "more thread")) not looked at", .faint)
        }
    }
}

extension CrashReport.Thread {
    /// Where the thread was: its innermost frame of user code, else its innermost frame.
    var location: String {
        let frames = frames.filter { $0.runtimeFailure == nil }
        return (frames.first(where: \.isApplicationCode) ?? frames.first)?.location ?? "unknown"
    }
}
