package import CrashReports

/// Text for a terminal, built piece by piece.
///
/// Every piece goes through ``TerminalText/visible(_:)`` on its way in, so nothing in a report gets past it.
struct StyledText {
    /// How a piece looks, if colours are wanted.
    enum Style: String {
        case plain = ""
        case bold = "1"
        case faint = "2"
        case red = "1;31"
        case green = "32"
        case yellow = "33"
        case cyan = "36"
    }

    /// What the text may use.
    let layout: TextLayout
    /// The text so far.
    private(set) var text = ""
    /// How many lines it has so far; in a terminal, only those that are not wider than it.
    var lineCount: Int { text.utf8.count { $0 == UInt8(ascii: "\n") } }

    init(_ layout: TextLayout) {
        self.layout = layout
    }

    /// Adds a piece of a line.
    mutating func add(_ piece: String, _ style: Style = .plain) {
        let visible = layout.visible(piece)
        if layout.usesColor, style != .plain, !visible.isEmpty {
            text += "\u{1b}[\(style.rawValue)m\(visible)\u{1b}[0m"
        } else {
            text += visible
        }
    }

    /// Ends the line, after a last piece.
    mutating func end(_ piece: String = "", _ style: Style = .plain) {
        add(piece, style)
        while text.hasSuffix(" ") { text.removeLast() }
        text += "\n"
    }

    /// Adds a line that starts with a label.
    mutating func field(_ label: String, _ value: String) {
        add(label.padded(10), .faint)
        end(value)
    }

    /// Adds text in lines that are broken between words, where the width is known: so many at most, of which the last is cut.
    mutating func paragraph(
        _ text: String,
        _ style: Style = .plain,
        first: String = "",
        rest: String = "",
        most: Int = .max
    ) {
        guard let width = layout.width else {
            add(first)
            return end(text, style)
        }
        var line = ""
        var start = first
        var left = most
        let room = width - DisplayWidth.of(rest)
        for word in layout.visible(text).split(separator: " ") {
            // What is not broken any more is cut.
            if left > 1, !line.isEmpty, DisplayWidth.of(line) + 1 + DisplayWidth.of(word) > room {
                add(start)
                end(line, style)
                start = rest
                line = ""
                left -= 1
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        add(start)
        end(most == .max ? line : line.cut(room, layout.ellipsis), style)
    }

    /// Adds an empty line and a heading.
    mutating func heading(_ title: String) {
        end()
        end(title, .bold)
    }

    private static let eighths: [Character] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"]

    /// Adds a line for each number: its label, itself, and a bar.
    mutating func chart(_ lines: [(label: String, count: Int)], indent: String = "", widest: Int = 40) {
        let largest = lines.map(\.count).max() ?? 0
        let labelWidth = min(40, lines.map(\.label.count).max() ?? 0)
        let digits = String(largest).count
        let room = min(widest, max(4, (layout.width ?? 100) - indent.count - labelWidth - digits - 4))
        for line in lines {
            add(indent + line.label.padded(labelWidth) + "  ", .faint)
            add(String(line.count).leftPadded(digits) + "  ")
            end(bar(line.count, of: largest, width: room), .cyan)
        }
    }

    /// Draws a number as a bar; one that is not zero has some length.
    private func bar(_ value: Int, of largest: Int, width: Int) -> String {
        guard value > 0, largest > 0, width > 0 else { return "" }
        let length = min(1, Double(value) / Double(largest)) * Double(width)
        guard layout.isUnicode else { return String(repeating: "#", count: max(1, Int(length.rounded()))) }
        let parts = max(1, Int((length * 8).rounded()))
        let rest = parts % 8
        return String(repeating: "█", count: parts / 8) + (rest == 0 ? "" : String(Self.eighths[rest - 1]))
    }
}

extension CrashReport.Verdict.Decision {
    /// How the decision looks: the worse, the redder.
    var style: StyledText.Style {
        switch self {
        case .resume: .green
        case .restart, .wait: .yellow
        default: .red
        }
    }
}

extension CrashReport.Histogram {
    /// More lines than the steps that are ever written.
    private static let mostLines = 40

    /// The steps in words, such as `up to 500 ms`, the shortest first, with those in between that were not met.
    package var lines: [(label: String, count: Int)] {
        guard let first = steps.first else { return [] }
        let last = steps.last?.upTo ?? .infinity
        let between = Self.bounds.filter { bound in
            bound > first.upTo ?? .infinity && bound < last && !steps.contains { $0.upTo == bound }
        }
        // Beyond the last bound that was met, a gap would say nothing.
        let highest = steps.compactMap(\.upTo).max() ?? 0
        let all = (steps.prefix(Self.mostLines) + between.filter { $0 < highest }.map { Step(upTo: $0, count: 0) })
            .sorted { $0.upTo ?? .infinity < $1.upTo ?? .infinity }
        return all.prefix(Self.mostLines).map { step in
            let label =
                step.upTo.map { "up to \(CrashReport.Stall.text(seconds: $0))" } ?? "longer than \(Self.longest)"
            return (label, step.count)
        }
    }

    private static var longest: String { CrashReport.Stall.text(seconds: bounds.last ?? 0) }
}
