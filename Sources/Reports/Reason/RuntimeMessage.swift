/// One line out of what a runtime says before it gives up.
struct RuntimeMessage {
    /// Longer ones are cut: a reason is one line.
    static let limit = 300

    /// The line.
    let text: String

    /// Takes the first line that has text in it, and is no warning.
    init?(_ message: String) {
        let lines = Self.withoutWarnings(message).split(whereSeparator: \.isNewline).lazy.map(Self.trimmed)
        guard let line = lines.first(where: { !$0.isEmpty }) else { return nil }
        text = line.count > Self.limit ? line.prefix(Self.limit) + "…" : String(line)
    }

    /// A message without the lines that tell of a leaked continuation.
    ///
    /// Nothing faults after them (swift/stdlib/public/Concurrency, CheckedContinuationCanary). Records of earlier versions have them before
    /// the text of a fault, or without one.
    static func withoutWarnings(_ message: String) -> String {
        guard message.holds(leak) else { return message }
        let lines = message.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        return lines.filter { !($0.hasPrefix("SWIFT TASK CONTINUATION MISUSE: ") && String($0).holds(leak)) }
            .joined(separator: "\n")
    }

    private static let leak = "leaked its continuation"

    /// What follows `Fatal error`, which is empty for a `fatalError()` without text.
    var fatalError: String? {
        guard let range = text.firstPlace(of: "Fatal error"), isAfterPlace(range.lowerBound) else { return nil }
        return String(Self.trimmed(text[range.upperBound...].drop { $0 == ":" }))
    }

    /// `Precondition failed` or `Assertion failed`, with what follows.
    var failedCheck: String? {
        for check in ["Precondition failed", "Assertion failed"] {
            guard let range = text.firstPlace(of: check), isAfterPlace(range.lowerBound) else { continue }
            return String(text[range.lowerBound...])
        }
        return nil
    }

    /// The runtime puts `module/file.swift:12: ` before, or nothing.
    private func isAfterPlace(_ index: String.Index) -> Bool {
        index == text.startIndex || text[..<index].hasSuffix(": ")
    }

    private static func trimmed(_ line: Substring) -> Substring {
        var line = line.drop(while: \.isWhitespace)
        while line.last?.isWhitespace == true { line.removeLast() }
        return line
    }
}

extension String {
    /// The text up to its first line break, cut where a reason is.
    var oneLine: String {
        RuntimeMessage(self)?.text ?? self
    }
}
