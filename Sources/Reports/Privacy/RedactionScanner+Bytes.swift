/// What single bytes of a text are.
extension RedactionScanner {
    /// Whether it ends a value, unless the value opened it.
    static func isEnd(_ byte: UInt8) -> Bool { ",;&\"')]}".utf8.contains(byte) }

    /// Whether it stands behind a closing quote rather than an opening one.
    static func isBehindQuotation(_ byte: UInt8) -> Bool { ".:?!>/\\".utf8.contains(byte) }

    /// What closes a bracket; nil for what is no opening one.
    static func closingBracket(of byte: UInt8) -> UInt8? { zip("([{".utf8, ")]}".utf8).first { $0.0 == byte }?.1 }

    /// Whether it stands between a name and its value, perhaps with others: `=`, `:`, `==`, `=>`, `:=`.
    static func isSign(_ byte: UInt8) -> Bool { "=:>".utf8.contains(byte) }

    static func isQuote(_ byte: UInt8) -> Bool { "\"'".utf8.contains(byte) }

    static func isBlank(_ byte: UInt8) -> Bool { " \t".utf8.contains(byte) }

    static func isLineEnd(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }

    static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// The same in lowercase.
    static func folded(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(folded(byte))
    }

    static func isNameByte(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || "_-".utf8.contains(byte) }

    static func isLocalByte(_ byte: UInt8) -> Bool { isNameByte(byte) || ".+%".utf8.contains(byte) }

    static func isTokenByte(_ byte: UInt8) -> Bool { isLocalByte(byte) || "/=".utf8.contains(byte) }

    static func isStartOfWord(_ bytes: ScannedText, _ place: Int) -> Bool {
        place == 0 || !isAlphanumeric(bytes[place - 1])
    }

    /// Whether lowercase bytes stand there, in any case.
    static func hasPrefix(_ prefix: [UInt8], _ bytes: ScannedText, at place: Int) -> Bool {
        guard prefix.count <= bytes.count - place else { return false }
        return prefix.indices.allSatisfy { folded(bytes[place + $0]) == prefix[$0] }
    }
}
