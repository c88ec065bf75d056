/// A text without what changes from fault to fault: numbers, addresses and what stands in quotes.
package enum StableText {
    /// Longer texts are cut: what makes a bug is said at the start.
    static let limit = 80

    /// Makes a text stable.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - limit: How long the stable text is at most.
    ///   - most: How much of the text is looked at.
    /// - Returns: The stable text.
    package static func of(_ text: String, limit: Int = limit, lookingAt most: Int = 1000) -> String {
        var stable = ""
        var rest = Substring(text.prefix(most))
        while let first = rest.first, stable.count < limit {
            if first.isASCII, first.isNumber {
                stable += "0"
                rest = rest.drop { $0.isASCII && ($0.isHexDigit || $0 == "x" || $0 == "." || $0 == "_") }
            } else if first == "\"" || first == "“", let end = closing(rest) {
                stable += "\"\""
                rest = rest[end...]
            } else if first.isWhitespace {
                stable += " "
                rest = rest.drop(while: \.isWhitespace)
            } else if first.isLetter {
                // A word with digits in it is a name, an identifier or an address.
                let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
                stable += word.contains(where: \.isNumber) ? "0" : word
                rest = rest.dropFirst(word.count)
            } else {
                stable.append(first)
                rest = rest.dropFirst()
            }
        }
        return String(stable.prefix(limit))
    }

    /// Behind the quotation mark that closes the one at the start.
    private static func closing(_ text: Substring) -> Substring.Index? {
        guard let end = text.dropFirst().firstIndex(where: { $0 == "\"" || $0 == "”" }) else { return nil }
        return text.index(after: end)
    }
}
