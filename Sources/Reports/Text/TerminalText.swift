/// Text out of a process that crashed, made safe to show.
///
/// Whoever can make a process crash may have a say in its text, and text can take over a terminal.
package enum TerminalText {
    /// Makes every character visible that would control a terminal, or change the order or the lines of text.
    ///
    /// - Parameter text: Any text.
    /// - Returns: The text with escapes such as `\u{1b}` in the place of such characters.
    package static func visible(_ text: String) -> String {
        // Nearly everything that is shown is printable ASCII, for which Unicode need not be asked.
        guard text.utf8.contains(where: { !(0x20..<0x7f).contains($0) }), text.unicodeScalars.contains(where: isUnsafe)
        else { return text }
        // To append a text to a view of scalars takes a copy of all that is there.
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if isUnsafe(scalar) {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }

    /// Makes every character visible that is not printable ASCII.
    ///
    /// - Parameter text: Any text.
    /// - Returns: The text with escapes such as `\u{e9}` in the place of such characters.
    package static func ascii(_ text: String) -> String {
        guard text.utf8.contains(where: { !(0x20..<0x7f).contains($0) }) else { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if (0x20..<0x7f).contains(scalar.value) {
                result.unicodeScalars.append(scalar)
            } else {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
    }

    /// Tells whether a character does more than show a glyph.
    static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        // Most of any text: its properties are looked up in tables.
        if (0x20..<0x7f).contains(scalar.value) { return false }
        switch scalar.properties.generalCategory {
        // C0, DEL and C1; bidirectional overrides, joiners and tags; line and paragraph separators.
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }
}
