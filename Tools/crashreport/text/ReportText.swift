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

    /// An instruction: where it is, and its text.
    package typealias Instruction = (address: HexAddress, text: String)

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
        addHeader(to: &output)
        for fact in facts() { output.field(fact.name, fact.text) }
        addLastOutput(to: &output, most: 200)
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
        addTasks(to: &output)
        addNotes(to: &output)
        return output.text
    }

    /// What is wrong, and what to look at next; then the reason, and what was decided.
    ///
    /// - Parameters:
    ///   - output: Where to write.
    ///   - most: How many hints there are at most.
    ///   - lines: How many lines each paragraph has at most.
    func addHeader(to output: inout StyledText, hints most: Int = 9, lines: Int = .max) {
        if let diagnosis = report.diagnosis {
            output.paragraph(diagnosis.summary, .bold, most: lines)
            for (index, hint) in diagnosis.next.prefix(most).enumerated() {
                output.paragraph(hint, first: "  \(index + 1). ", rest: "     ", most: lines)
            }
            output.end()
        }
        let decision = report.verdict.decision
        let isCut = lines < .max
        output.add(isCut ? cut(report.reason, decision.rawValue.count + 2) : report.reason, .bold)
        output.add(": ")
        output.end(isCut ? cut(decision.rawValue, 0) : decision.rawValue, decision.style)
        output.end()
    }

    /// A text cut to what is left of a line.
    func cut(_ text: String, _ taken: Int) -> String {
        guard let width = layout.width else { return text }
        return layout.visible(text).cut(max(20, width - taken), layout.ellipsis)
    }

    /// The last that a process wrote before it ended.
    func addLastOutput(to output: inout StyledText, most: Int) {
        guard let lines = report.death?.lastLines(most), !lines.isEmpty else { return }
        output.heading("The last of its standard error")
        for line in lines { output.end("  " + cut(line, 2)) }
    }

    // MARK: The parts of the text that are about what did not go on

    func addProfile(to output: inout StyledText) {
        guard let profile = report.stall?.profile else { return }
        output.heading(
            "Where the time went: \(CrashReport.Stall.text(seconds: profile.seconds)), \(Count.of(profile.samples, "sample"))"
        )
        ProfileText(profile).write(to: &output)
    }

    /// The thread that faulted or stalled.
    func addMainThread(to output: inout StyledText) {
        guard report.kind != .death else { return }
        guard report.kind == .stall else { return addThread(report.thread, to: &output) }
        // What was pinged has no thread that is known.
        guard hasThread else { return }
        addThread(report.thread, title: "Last sample: thread", to: &output)
    }

    /// Whether a thread is known that faulted or stalled.
    var hasThread: Bool {
        if report.kind == .death { return false }
        return report.stall == nil || report.thread.id != 0 || !report.thread.frames.isEmpty
    }

    func addLengths(to output: inout StyledText) {
        guard let stall = report.stall else { return }
        if stall.lengths.count > 1 {
            output.heading("How long \(Count.of(stall.lengths.count, "stall")) took")
            output.chart(stall.lengths.lines, indent: "  ")
        }
        guard let ticks = stall.ticks, !ticks.lateness.steps.isEmpty else { return }
        output.heading("How late ticks came")
        output.chart(ticks.lateness.lines, indent: "  ")
    }

    // MARK: The parts of the text that are about what the process was doing, had and was allowed

    /// What is further back is in the JSON.
    private static let mostBreadcrumbs = 40
    private static let mostEntries = 200

    func addBreadcrumbs(to output: inout StyledText) {
        guard let context = report.context, !context.breadcrumbs.isEmpty else { return }
        output.heading("Before the \(report.kind.event)")
        let shown = context.breadcrumbs.suffix(Self.mostBreadcrumbs)
        let (hidden, isOverflow) = (context.breadcrumbs.count - shown.count).addingReportingOverflow(
            max(0, context.breadcrumbsLost)
        )
        if hidden > 0, !isOverflow { output.end("  \(layout.gap) \(hidden) earlier", .faint) }
        let faulting = report.thread.id
        for crumb in shown {
            output.add(" " + delay(from: report.timestamp, to: crumb.time).leftPadded(10) + "  ", .faint)
            output.add(crumb.kind.rawValue.padded(10), .faint)
            if let level = crumb.level { output.add(level + ": ", Self.style(ofLevel: level)) }
            output.add(crumb.text)
            if let thread = crumb.thread, thread != faulting { output.add("  [thread \(thread)]", .faint) }
            output.end()
        }
    }

    /// Such as `-1.204 s` or `-0.3 ms`.
    package func delay(from fault: Timestamp, to time: Timestamp) -> String {
        let micros = time.microsecondsSinceEpoch - fault.microsecondsSinceEpoch
        guard micros.magnitude < 100_000_000_000 else { return layout.zone.brief(time) }
        let isShort = micros.magnitude < 1_000_000
        // Seconds have three decimals, milliseconds one.
        let steps = isShort ? (micros.magnitude + 50) / 100 : (micros.magnitude + 500) / 1000
        let scale: UInt64 = isShort ? 10 : 1000
        let decimals = String(steps % scale)
        let zeros = String(repeating: "0", count: (isShort ? 1 : 3) - decimals.count)
        return "\(micros < 0 ? "-" : "+")\(steps / scale).\(zeros)\(decimals) \(isShort ? "ms" : "s")"
    }

    private static func style(ofLevel level: String) -> StyledText.Style {
        switch level {
        case "critical", "error": .red
        case "warning": .yellow
        default: .faint
        }
    }

    func addContext(to output: inout StyledText) {
        guard let context = report.context else { return }
        addPairs("Annotations", context.annotations, to: &output)
        addResources(context, to: &output)
        addPairs("Environment", context.environment, to: &output)
    }

    private func addPairs(_ title: String, _ pairs: [String: String], to output: inout StyledText) {
        guard !pairs.isEmpty else { return }
        output.heading(title)
        let sorted = pairs.sorted { $0.key < $1.key }.prefix(Self.mostEntries)
        let width = min(30, sorted.map { DisplayWidth.of(layout.visible($0.key)) }.max() ?? 0)
        for (key, value) in sorted {
            output.add("  " + layout.visible(key).padded(width) + "  ", .faint)
            output.end(value)
        }
        if pairs.count > sorted.count { output.end("  \(layout.gap) \(pairs.count - sorted.count) more", .faint) }
    }

    private func addResources(_ context: CrashReport.Context, to output: inout StyledText) {
        let facts = context.resources
        guard !facts.isEmpty else { return }
        output.heading("Resources")
        for fact in facts {
            output.paragraph(fact.text, first: "  " + fact.name.padded(11), rest: String(repeating: " ", count: 13))
        }
    }

    // MARK: The parts of the text that are about bytes and addresses

    private static let mostInstructions = 8
    private static let mostImages = 400
    private static let bytesPerLine = 16
    /// Of each piece of memory; the rest is in the JSON.
    private static let mostBytes = 1024

    func addInstructions(to output: inout StyledText) {
        // A signal that was sent says nothing about the instruction: an `abort` would show the C library's.
        guard let fault = report.fault, fault.code.number > 0 else { return }
        guard let code = fault.instructions, let bytes = code.bytes.hexBytes, !bytes.isEmpty else { return }
        let counter =
            report.thread.registers["rip"] ?? report.thread.registers["pc"] ?? report.thread.frames.first?.address
        let offset = counter.map { $0.rawValue &- code.address.rawValue } ?? 0
        // Instructions have no fixed length: before the one that faulted, there is no telling where one begins.
        let start = offset < UInt64(bytes.count) ? Int(offset) : 0
        output.heading("Code at \(HexAddress(code.address.rawValue &+ UInt64(start)))")
        let found = disassembly(Array(bytes[start...]), HexAddress(code.address.rawValue &+ UInt64(start)))
        for (index, instruction) in (found ?? []).prefix(Self.mostInstructions).enumerated() {
            output.add(index == 0 ? "> " : "  ", .bold)
            output.add(instruction.address.padded + "  ", .faint)
            output.end(instruction.text, index == 0 ? .bold : .plain)
        }
        // As the kernel writes it: the byte at the program counter in brackets.
        let shown = bytes.prefix(64).enumerated().map { index, byte in
            index == start ? "<\(Self.hex(byte))>" : Self.hex(byte)
        }
        output.end("  bytes " + shown.joined(separator: " "), .faint)
    }

    func addRegisters(to output: inout StyledText) {
        let registers = report.thread.registers
        guard !registers.isEmpty else { return }
        output.heading("Registers")
        let names = RegisterNames.sorted(registers.keys)
        // A name, its value and what is between them take 27 columns.
        let perLine = min(4, max(1, (layout.width ?? 108) / 27))
        for start in stride(from: 0, to: names.count, by: perLine) {
            for name in names[start..<min(start + perLine, names.count)] {
                output.add("  " + name.leftPadded(6) + " ", .faint)
                output.add(registers[name]?.padded ?? "")
            }
            output.end()
        }
    }

    func addMemory(to output: inout StyledText) {
        for piece in (report.fault?.memory ?? []).prefix(32) {
            guard let bytes = piece.bytes.hexBytes else { continue }
            output.heading("Memory: \(piece.about)")
            for start in stride(from: 0, to: min(bytes.count, Self.mostBytes), by: Self.bytesPerLine) {
                let line = bytes[start..<min(start + Self.bytesPerLine, bytes.count)]
                output.add("  \(HexAddress(piece.address.rawValue &+ UInt64(start)).padded)  ", .faint)
                output.add(line.map(Self.hex).joined(separator: " ").padded(Self.bytesPerLine * 3 - 1))
                let text = line.map { (0x20..<0x7f).contains($0) ? Character(Unicode.Scalar($0)) : "." }
                output.end("  " + String(text), .faint)
            }
            if bytes.count > Self.mostBytes {
                output.end("  \(layout.gap) \(bytes.count - Self.mostBytes) bytes more", .faint)
            }
        }
    }

    func addImages(to output: inout StyledText) {
        guard !report.images.isEmpty else { return }
        output.heading("Images")
        for image in report.images.prefix(Self.mostImages) {
            output.add("  \(image.base.padded)-\(image.end.padded) ", .faint)
            output.end(image.path + (image.buildID.map { ", build \($0)" } ?? ""))
        }
        if report.images.count > Self.mostImages {
            output.end("  \(layout.gap) \(report.images.count - Self.mostImages) more", .faint)
        }
    }

    func addTasks(to output: inout StyledText) {
        guard let tasks = report.tasks else { return }
        output.heading("Tasks in fault boundaries")
        for line in tasks.lines { output.end(layout.visible(line.isEmpty ? line : "  " + line)) }
    }

    func addNotes(to output: inout StyledText) {
        guard !report.notes.isEmpty else { return }
        output.heading("Notes")
        for note in report.notes { output.paragraph(note, first: "  ", rest: "  ") }
    }

    private static func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }
}
