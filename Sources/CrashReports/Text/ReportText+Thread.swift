/// The parts of the text that are about the thread and the code.
extension ReportText {
    func addFrames(to output: inout StyledText) {
        let thread = report.thread
        let name = thread.name.map { " \"\($0)\"" } ?? ""
        output.heading("Thread \(thread.id)\(name)\(thread.isMain ? ", the main thread" : "")")
        let digits = String(thread.frames.last?.index ?? 0).count
        var next = 0
        for run in FrameRuns(thread.frames) {
            if let first = run.first, first.index > next {
                output.end(
                    "   " + String(repeating: " ", count: digits) + "… \(first.index &- next) frames are left out",
                    .faint
                )
            }
            // A recursion is told by its head, its length and its tail.
            let isLong = run.count > Self.longestRun
            for frame in isLong ? run.prefix(2) : run { addFrame(frame, digits, to: &output) }
            if isLong, let last = run.last {
                output.end(
                    "   " + String(repeating: " ", count: digits) + "… \(run.count - 3) more calls of the same",
                    .faint
                )
                addFrame(last, digits, to: &output)
            }
            next = (run.last?.index ?? next) &+ 1
        }
        if thread.frames.isEmpty { output.end("  no frames") }
        if thread.framesTruncated { output.end("  the walk ended before the end of the stack") }
    }

    private static let longestRun = 6

    private func addFrame(_ frame: CrashReport.Frame, _ digits: Int, to output: inout StyledText) {
        // Without colours, the mark makes user code stand out.
        output.add(frame.isApplicationCode ? "> " : "  ", .bold)
        output.add(String(frame.index).leftPadded(digits) + "  ", .faint)
        output.add(frame.function ?? frame.imageLocation ?? frame.address.description, style(of: frame))
        if let offset = frame.functionOffset { output.add(" + \(offset)", .faint) }
        if frame.inlined { output.add(" [inlined]", .faint) }
        if let source = sourceText(of: frame) { output.add(" at \(source)") }
        if let image = frame.imageName, frame.function != nil { output.add(" in \(image)", .faint) }
        output.end()
    }

    func addExcerpt(to output: inout StyledText, _ excerpt: (String, Int) -> SourceExcerpt?) {
        let frame = report.thread.frames.first { $0.isApplicationCode && $0.file != nil && $0.line != nil }
        guard let file = frame?.file, let line = frame?.line, let found = excerpt(file, line) else { return }
        output.heading(file)
        let digits = found.lines.map { String($0.number).count }.max() ?? 0
        for shown in found.lines {
            output.add(shown.number == line ? "> " : "  ", .bold)
            output.add(String(shown.number).leftPadded(digits) + " | ", .faint)
            output.end(shown.text.cut(200), shown.number == line ? .bold : .plain)
        }
    }

    func addRegisters(to output: inout StyledText) {
        let registers = report.thread.registers
        guard !registers.isEmpty else { return }
        output.heading("Registers")
        let known = Self.registerOrder.filter { registers[$0] != nil }
        let names = known + registers.keys.filter { !known.contains($0) }.sorted()
        for start in stride(from: 0, to: names.count, by: 4) {
            for name in names[start..<min(start + 4, names.count)] {
                output.add("  " + name.leftPadded(6) + " ", .faint)
                output.add(registers[name]?.padded ?? "")
            }
            output.end()
        }
    }

    func addImages(to output: inout StyledText) {
        guard !report.images.isEmpty else { return }
        output.heading("Images")
        for image in report.images {
            output.add("  \(image.base.padded)-\(image.end.padded) ", .faint)
            output.end(image.path + (image.buildID.map { ", build \($0)" } ?? ""))
        }
    }

    func addNotes(to output: inout StyledText) {
        guard !report.notes.isEmpty else { return }
        output.heading("Notes")
        for note in report.notes { output.end("  \(note)") }
    }

    private func style(of frame: CrashReport.Frame) -> StyledText.Style {
        frame.isApplicationCode ? .bold : .plain
    }

    private func sourceText(of frame: CrashReport.Frame) -> String? {
        guard let source = frame.sourceLocation else { return nil }
        return frame.column.map { frame.line == nil ? source : "\(source):\($0)" } ?? source
    }

    /// The order of the manuals of the processor.
    private static let registerOrder = [
        "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
        "rip", "rflags", "eflags",
    ]
}
