/// What text may use where it goes to.
public struct TextLayout: Sendable, Hashable {
    /// How many columns a line has; any number without one.
    public var width: Int?
    /// Whether colours are wanted.
    public var usesColor: Bool
    /// Whether more than ASCII can be shown.
    public var isUnicode: Bool
    /// In which time zone times are shown.
    public var zone = DisplayZone.utc

    /// Lines of any width, without colours.
    public static let plain = TextLayout()

    /// Makes a layout.
    ///
    /// - Parameters:
    ///   - width: How many columns a line has; any number without one.
    ///   - usesColor: Whether colours are wanted.
    ///   - isUnicode: Whether more than ASCII can be shown.
    public init(width: Int? = nil, usesColor: Bool = false, isUnicode: Bool = true) {
        self.width = width
        self.usesColor = usesColor
        self.isUnicode = isUnicode
    }

    /// What stands for text that was cut off; one column wide.
    var ellipsis: String { isUnicode ? "…" : "~" }
    /// What stands for lines that were left out.
    var gap: String { isUnicode ? "…" : "..." }

    /// Makes text safe to show: escapes for what controls a terminal, and for what it cannot show.
    ///
    /// - Parameter text: Any text.
    /// - Returns: Text of printable characters.
    public func visible(_ text: String) -> String {
        isUnicode ? TerminalText.visible(text) : TerminalText.ascii(text)
    }
}
