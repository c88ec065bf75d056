/// What text may use where it goes to.
package struct TextLayout: Sendable, Hashable {
    /// How many columns a line has; any number without one.
    package var width: Int?
    /// Whether colours are wanted.
    package var usesColor: Bool
    /// Whether more than ASCII can be shown.
    package var isUnicode: Bool
    /// In which time zone times are shown.
    package var zone = DisplayZone.utc

    /// Lines of any width, without colours.
    package static let plain = TextLayout()

    /// Makes a layout.
    ///
    /// - Parameters:
    ///   - width: How many columns a line has; any number without one.
    ///   - usesColor: Whether colours are wanted.
    ///   - isUnicode: Whether more than ASCII can be shown.
    package init(width: Int? = nil, usesColor: Bool = false, isUnicode: Bool = true) {
        self.width = width
        self.usesColor = usesColor
        self.isUnicode = isUnicode
    }

    /// What stands for text that was cut off; one column wide.
    package var ellipsis: String { isUnicode ? "…" : "~" }
    /// What stands for lines that were left out.
    package var gap: String { isUnicode ? "…" : "..." }

    /// Makes text safe to show: escapes for what controls a terminal, and for what it cannot show.
    ///
    /// - Parameter text: Any text.
    /// - Returns: Text of printable characters.
    package func visible(_ text: String) -> String {
        isUnicode ? TerminalText.visible(text) : TerminalText.ascii(text)
    }
}
