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
    }

    /// Whether styles become escape sequences.
    let usesColor: Bool
    /// The text so far.
    private(set) var text = ""

    init(usesColor: Bool) {
        self.usesColor = usesColor
    }

    /// Adds a piece of a line.
    mutating func add(_ piece: String, _ style: Style = .plain) {
        let visible = TerminalText.visible(piece)
        if usesColor, style != .plain, !visible.isEmpty {
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
        case .restart: .yellow
        default: .red
        }
    }
}

extension String {
    /// The text, filled up with spaces.
    func padded(_ width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    /// The text after spaces that fill it up.
    func leftPadded(_ width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }

    /// The text, or its start with a mark when it is too long.
    func cut(_ width: Int) -> String {
        guard count > width else { return self }
        return width > 0 ? prefix(width - 1) + "…" : ""
    }
}
