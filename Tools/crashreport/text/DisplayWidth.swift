internal import LinuxSystem

/// How many columns of a terminal text takes.
///
/// The C library has the table (wcwidth(3)); it is kept up with Unicode, and terminals go by the same one. A character, as a
/// reader sees it, may be several scalars: accents take no column of their own, and an emoji takes two whatever it is made of.
package enum DisplayWidth {
    /// Counts the columns of a line that has no control characters.
    ///
    /// - Parameter text: The line.
    /// - Returns: Its columns.
    package static func of(_ text: some StringProtocol) -> Int {
        // Nearly everything that is shown is ASCII.
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + columns(of: $1) }
    }

    /// Takes as many whole characters of a line as fit.
    ///
    /// - Parameters:
    ///   - text: The line.
    ///   - width: The columns.
    /// - Returns: The start of the line.
    package static func prefix(of text: String, fitting width: Int) -> String {
        guard width > 0 else { return "" }
        if text.utf8.count <= width { return text }
        var used = 0
        let start = text.prefix { character in
            used += columns(of: character)
            return used <= width
        }
        return String(start)
    }

    /// Counts the columns of a character.
    private static func columns(of character: Character) -> Int {
        let scalars = character.unicodeScalars
        guard let first = scalars.first else { return 0 }
        if scalars.count == 1 { return columns(of: first) }
        // A flag is two letters; U+FE0F asks for the picture of a character that has one.
        let isEmoji = first.properties.isEmojiPresentation || scalars.contains("\u{fe0f}")
        if isEmoji { return 2 }
        return scalars.reduce(0) { $0 + columns(of: $1) }
    }

    private static func columns(of scalar: Unicode.Scalar) -> Int {
        if scalar.isASCII { return 1 }
        if let columns = TerminalColumns.of(scalar) { return columns }
        // The C library is older than the character.
        return scalar.properties.isEmojiPresentation ? 2 : 1
    }
}

extension String {
    /// The text, filled up with spaces to some columns.
    func padded(_ width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - DisplayWidth.of(self)))
    }

    /// The text after spaces that fill it up to some columns.
    func leftPadded(_ width: Int) -> String {
        String(repeating: " ", count: max(0, width - DisplayWidth.of(self))) + self
    }

    /// The text, or its start with a mark when it takes too many columns.
    func cut(_ width: Int, _ mark: String = "…") -> String {
        guard DisplayWidth.of(self) > width else { return self }
        return width > 0 ? DisplayWidth.prefix(of: self, fitting: width - 1) + mark : ""
    }
}
