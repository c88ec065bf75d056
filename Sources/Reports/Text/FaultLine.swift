extension CrashReport {
    /// What a log says of a fault in one line, for who has nothing but the log: what, where, in which item, and what came of it.
    ///
    /// Such as `fault 3 resumed: Index out of range in greet() at main.swift:14, item "greeter" (timer), report 01a1fd1665fc`; without any
    /// character that controls a terminal or ends a line. What is not known is left out.
    ///
    /// - Parameters:
    ///   - isStored: Whether the report can be found by its identifier.
    ///   - isAlive: Whether the process lives: then a fault without a verdict is one whose thread stands still until the process restarts.
    /// - Returns: The line.
    package func faultLine(isStored: Bool = true, isAlive: Bool = false) -> String {
        let isPending = isAlive && verdict.reason == Verdict.noneYet
        if kind == .death {
            let end =
                "end of the process: \(reason)" + (isStored ? ", report \(id.rawValue.prefix(12))" : ", no report")
            return TextLayout.plain.visible(end)
        }
        let outcome = isPending ? "cannot be resumed" : outcome
        var line = "\(kind.event) \((fault?.number ?? stall?.number).map { "\($0) " } ?? "")\(outcome): \(reason)"
        if let place { line += " in \(place)" }
        if let callout = loop?.callout, callout.item != 0 || !callout.label.isEmpty {
            line += ", item \"\(callout.label)\" (\(callout.kind.rawValue))"
        }
        if !thread.isMain { line += ", thread " + (thread.name.map { "\"\(Self.wholeName($0))\"" } ?? "\(thread.id)") }
        if verdict.decision != .resume, !isPending { line += ", because \(verdict.reason)" }
        if occurrences.count > 1 { line += ", \(occurrences.count) equal faults" }
        line += isStored ? ", report \(id.rawValue.prefix(12))" : ", no report"
        return TextLayout.plain.visible(line)
    }

    /// The kernel keeps 15 bytes of a thread's name, and libdispatch gives it the last ones of its queue's label (src/queue.c).
    private static func wholeName(_ name: String) -> String {
        let classes = ["maintenance", "background", "utility", "default", "user-initiated", "user-interactive"]
        let labels = classes.map { "com.apple.root.\($0)-qos" }
        return name.utf8.count == 15 ? labels.first { $0.hasSuffix(name) } ?? name : name
    }

    /// What was done about the process.
    private var outcome: String {
        switch verdict.decision {
        case .resume where fault?.signal.name == "SIGSTKFLT": "resumed, a callout was abandoned at its deadline"
        case .resume: recovery?.quarantined == true ? "resumed, item quarantined" : "resumed"
        case .restart: "restarted the process"
        default: "ended the process"
        }
    }

    /// The function and the line, as far as they are known.
    package var place: String? {
        let frames = thread.frames.filter { $0.runtimeFailure == nil }
        let innermost = frames.first(where: \.isApplicationCode) ?? frames.first
        guard let frame = innermost, let function = frame.function else { return nil }
        return frame.sourceLocation.map { "\(function) at \($0)" } ?? function
    }
}
