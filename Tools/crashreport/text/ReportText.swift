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
}
