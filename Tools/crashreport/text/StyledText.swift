internal import CrashReports

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
