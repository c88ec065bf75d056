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

    var codeType: String {
        report.host.architecture == "x86_64" ? "X86-64" : "Unknown"
    }

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
}
