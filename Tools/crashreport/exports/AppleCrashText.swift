package import CrashReports

/// A report as text in the layout of Apple's crash reports, version 104, as PLCrashReporter writes it.
///
/// The layout is that of `PLCrashReportTextFormatter.m`. Tools that read such text get what they look for; what Linux
/// has no counterpart of is `???`. See `Documentation/Exports.md` for what stands where.
package struct AppleCrashText: Sendable {
    let report: CrashReport

    /// Takes a report.
    ///
    /// - Parameter report: The report.
    package init(_ report: CrashReport) {
        self.report = report
    }

    /// Writes the text.
    ///
    /// - Returns: Lines, without any character that controls a terminal, and with line breaks only where the layout has
    ///   them.
    package func text() -> String {
        var lines = header + [""] + system + [""] + exception + [""] + information + [""]
        for thread in numberedThreads { lines += self.lines(of: thread) + [""] }
        lines += registers
        lines += images
        return lines.map { TerminalText.visible($0) + "\n" }.joined()
    }

    private var header: [String] {
        let process = report.process
        let parts = [8, 12, 16, 20, 32]
        let id = Array(report.id.rawValue.uppercased())
        let incident = zip([0] + parts, parts).map { String(id[min($0, id.count)..<min($1, id.count)]) }
        return [
            "Incident Identifier: \(incident.joined(separator: "-"))",
            "CrashReporter Key:   \(machineKey)",
            "Hardware Model:      \(report.host.architecture)",
            "Process:         \(process.name) [\(process.pid)]",
            "Path:            \(process.executable)",
            "Identifier:      \(process.name)",
            "Version:         \(version)",
            "Code Type:       \(codeType)",
            "Parent Process:  ??? [\(process.parentPid)]",
        ]
    }

    private var system: [String] {
        // As `NSDate` describes itself.
        [
            "Date/Time:       \(report.timestamp.brief) +0000",
            "OS Version:      Linux \(report.host.kernel) (\(report.host.os))",
            "Report Version:  104",
        ]
    }

    private var exception: [String] {
        [
            "Exception Type:  \(report.fault?.signal.name ?? report.kind.rawValue.uppercased())",
            "Exception Codes: \(exceptionCode) at \((report.fault?.address ?? HexAddress(0)).description)",
            "Crashed Thread:  \(crashedThreadNumber)",
        ]
    }

    /// A word: what became of a stall, else what the kernel says of the signal.
    private var exceptionCode: String {
        guard let stall = report.stall else { return report.fault?.code.name ?? "UNKNOWN" }
        switch stall.end {
        case .wentOn: return "WENT_ON"
        case .abandoned: return "ABANDONED"
        case .never: return "NEVER_ENDED"
        // What a later version says.
        default: return "ENDED"
        }
    }

    /// Every line of it starts with what no other line of the layout starts with: the text may be anything.
    private var information: [String] {
        var lines: [String] = []
        if let exception = report.fault?.exception {
            let reason = exception.message ?? "none"
            lines.append("Terminating app due to uncaught exception '\(exception.type)', reason: '\(reason)'")
        } else {
            lines += (report.fault?.message ?? report.reason).split(whereSeparator: \.isNewline).map(String.init)
        }
        if let diagnosis = report.diagnosis { lines.append("Diagnosis: \(diagnosis.summary)") }
        lines.append("Verdict: \(report.verdict.decision.rawValue), \(report.verdict.reason)")
        if let stall = report.stall {
            let path = stall.heaviestPlaces(atMost: 32).joined(separator: " > ")
            if !path.isEmpty { lines.append("Most of the time: \(path)") }
        }
        if let callout = report.loop?.callout {
            let label = callout.label.isEmpty ? "" : " \"\(callout.label)\""
            lines.append("Callout: \(callout.kind.rawValue)\(label) in mode \(report.loop?.mode ?? "")")
        }
        if report.occurrences.count > 1 { lines.append("Occurrences: \(report.occurrences.count)") }
        return ["Application Specific Information:"] + lines.map { "*** \($0.limited(to: 4096))" }
    }

    private var version: String {
        let build = report.process.buildID ?? "???"
        guard let release = report.tag("release") else { return build }
        return "\(release) (\(build))"
    }

    /// The same for all reports of a program on a machine, as Apple's key is: FNV-1a with 64 bits.
    private var machineKey: String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in "\(report.host.name)\n\(report.process.executable)".utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return String(HexAddress(hash).padded.dropFirst(2))
    }

    var codeType: String { report.host.architecture == "x86_64" ? "X86-64" : "Unknown" }

    /// A thread with the number that the text gives it.
    struct NumberedThread {
        var number: Int
        var thread: CrashReport.Thread
        var hasCrashed: Bool
    }

    /// The main thread is 0, as there; the others follow by their identifiers, as they were made.
    var numberedThreads: [NumberedThread] {
        let sorted = report.threads.enumerated().sorted { left, right in
            (left.element.isMain ? 0 : 1, left.element.id, left.offset)
                < (right.element.isMain ? 0 : 1, right.element.id, right.offset)
        }
        return sorted.enumerated().map { number, thread in
            NumberedThread(number: number, thread: thread.element, hasCrashed: report.hasThread && thread.offset == 0)
        }
    }

    var crashedThreadNumber: Int { numberedThreads.first(where: \.hasCrashed)?.number ?? 0 }

    // MARK: The threads, the registers and the images

    func lines(of numbered: NumberedThread) -> [String] {
        var lines: [String] = []
        if let name = numbered.thread.name { lines.append("Thread \(numbered.number) name:  \(name)") }
        lines.append("Thread \(numbered.number)\(numbered.hasCrashed ? " Crashed" : ""):")
        return lines + numbered.thread.frames.map(line)
    }

    /// A frame on its line: `%-4ld%-35S 0x%016llx %@`.
    private func line(_ frame: CrashReport.Frame) -> String {
        let image = report.image(of: frame)
        let name = image?.name ?? frame.imageName ?? "???"
        let place = [
            String(frame.index).filled(4), name.limited(to: 200).filled(35), " ", frame.address.padded, " ",
        ]
        return place.joined() + symbol(frame, image)
    }

    /// Function and offset, else image and offset; the source as a symbolicated report of Apple's has it.
    private func symbol(_ frame: CrashReport.Frame, _ image: CrashReport.Image?) -> String {
        guard let function = frame.function else {
            let base = image?.base ?? HexAddress(0)
            let offset = frame.address.rawValue >= base.rawValue ? frame.address.rawValue - base.rawValue : 0
            return "\(base) + \(offset)"
        }
        var text = "\(function.limited(to: 1024)) + \(max(0, frame.functionOffset ?? 0))"
        if let source = frame.sourceLocation { text += " (\(source.limited(to: 200)))" }
        return frame.inlined ? text + " [inlined]" : text
    }

    /// Four to a line: `%6s: 0x%016llx `, with the blank at the end.
    var registers: [String] {
        let values = report.thread.registers
        let names = RegisterNames.sorted(values.keys)
        var lines = ["Thread \(crashedThreadNumber) crashed with \(codeType) Thread State:"]
        for start in stride(from: 0, to: names.count, by: 4) {
            let cells = names[start..<min(start + 4, names.count)].map { name in
                let shown = name == "eflags" ? "rflags" : name
                return "\(shown.leftFilled(6)): \((values[name] ?? HexAddress(0)).padded) "
            }
            lines.append(cells.joined())
        }
        return lines + [""]
    }

    /// `%18#llx - %18#llx %@%@ %@  <%@> %@`, by their addresses; the end is the last address.
    var images: [String] {
        var lines = ["Binary Images:"]
        var last: HexAddress?
        for image in report.images.sorted(by: { $0.base < $1.base }) where image.base != last {
            last = image.base
            // Not one past the end: that has no number where an image ends with the last address.
            let end = HexAddress(image.base.rawValue + (max(1, image.size) - 1))
            let mark = image.path == report.process.executable ? "+" : " "
            let range = "\(image.base.description.leftFilled(18)) - \(end.description.leftFilled(18))"
            let identifier = image.identifierBytes.map(hexDigits) ?? "???"
            let name = "\(mark)\(image.name) \(report.host.architecture)"
            lines.append("\(range) \(name)  <\(identifier)> \(image.path)")
        }
        return lines
    }
}

extension String {
    /// The text with blanks after it, up to a width.
    fileprivate func filled(_ width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    /// The text with blanks before it, up to a width.
    fileprivate func leftFilled(_ width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}
