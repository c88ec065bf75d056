extension CrashReport.Diagnosis {
    /// Says in plain words what is probably wrong in a report, and what to look at next.
    ///
    /// A pure function, of hostile input too: every part of it is one line and not long.
    ///
    /// - Parameter report: The report; a diagnosis that it has does not count.
    package init(of report: CrashReport) {
        let fault = FaultClass(of: report)
        let place = FaultPlace(report)
        let summary = place.summary(of: fault)
        self.init(
            summary: summary.diagnosisLine,
            next: (place.next(after: fault) + Circumstances(report, fault).lines).map(\.diagnosisLine)
        )
    }
}

extension String {
    /// The longest line of a diagnosis, in characters.
    private static var longestLine: Int { 400 }

    /// One line without control characters, cut where it gets long.
    fileprivate var diagnosisLine: String {
        let line = prefix(Self.longestLine + 1).map { $0.isNewline ? " " : $0 }
        return line.count > Self.longestLine ? String(line.prefix(Self.longestLine)) + "…" : String(line)
    }

    /// The text, cut in the middle of a sentence.
    var quotedBriefly: String {
        let line = RuntimeMessage(self)?.text ?? self
        return "“" + (line.count > 160 ? line.prefix(160) + "…" : line) + "”"
    }
}

/// Where a fault happened, in the words of a diagnosis.
struct FaultPlace {
    let report: CrashReport
    /// The function and the line to look at, such as `Router.route(for:) (Router.swift:88)`.
    let location: String
    /// The innermost function of the program, if there is one.
    let ownFrame: CrashReport.Frame?
    /// The function of a library that was called last, if the fault was in one.
    let library: String?

    init(_ report: CrashReport) {
        self.report = report
        let frames = report.thread.frames.filter { $0.runtimeFailure == nil }
        ownFrame = frames.first(where: \.isApplicationCode)
        location = report.location
        let called = frames.prefix { !$0.isApplicationCode }.last
        // A jump that went astray called nothing.
        if let called, called.imageName != nil, ownFrame != nil, report.fault?.access != .execute {
            library = [called.function, called.imageName].compactMap(\.self).joined(separator: " of ")
        } else {
            library = nil
        }
    }

    /// The line to open, or the function where the line is not known.
    var line: String {
        ownFrame?.sourceLocation ?? ownFrame?.function ?? location
    }

    /// `in f (File.swift:12)`.
    var inFunction: String { "in \(location)" }

    /// The same with the library's function that it called, which had to do with the memory.
    var inCall: String { inFunction + (library.map { ", which had called \($0)" } ?? "") }

    /// Whether the innermost function of the program is one of Swift, which has checks of its own.
    var isSwift: Bool { ownFrame?.rawName?.hasPrefix("$s") ?? ownFrame?.file?.hasSuffix(".swift") ?? true }

    /// The name of the signal, in a report of a fault.
    var signalName: String { report.fault?.signal.name ?? report.kind.rawValue }

    /// The address that was accessed, and what is there.
    var address: String {
        let place = report.fault?.address.map { "address \($0)" } ?? "an address that the processor does not name"
        let notes = [report.fault?.addressKind?.rawValue, report.fault?.mapping?.sentence].compactMap(\.self)
        return notes.isEmpty ? place : "\(place) (\(notes.joined(separator: ", ")))"
    }

    /// `read`, `wrote` or `accessed`.
    var accessed: String {
        switch report.fault?.access {
        case .read: "read"
        case .write: "wrote to"
        default: "accessed"
        }
    }

    /// Whose stack the thread was on.
    var stack: String {
        if let callout = report.loop?.callout { return "the callout stack of the \(callout.words)" }
        if report.thread.isMain { return "the main thread's stack" }
        return "the stack of thread \(report.thread.id)" + (report.thread.name.map { " \($0.quotedBriefly)" } ?? "")
    }
}

extension CrashReport.LoopState.Callout {
    /// What it is as it stands in a sentence, with its label: `timer “retry queue”`.
    var words: String {
        (kind == .mainQueue ? "main queue's job" : kind.rawValue) + (label.isEmpty ? "" : " \(label.quotedBriefly)")
    }
}
