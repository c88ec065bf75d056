/// What single bytes of a text are.
extension RedactionScanner {
    /// Whether it ends a value, unless the value opened it.
    static func isEnd(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "&"), UInt8(ascii: "\""), UInt8(ascii: "'"),
            UInt8(ascii: ")"),
            UInt8(ascii: "]"), UInt8(ascii: "}"):
            true
        default: false
        }
    }

    /// Whether it stands behind a closing quote rather than an opening one.
    static func isBehindQuotation(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "?"), UInt8(ascii: "!"), UInt8(ascii: ">"),
            UInt8(ascii: "/"), UInt8(ascii: "\\"):
            true
        default: false
        }
    }

    /// What closes a bracket; nil for what is no opening one.
    static func closingBracket(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "("): UInt8(ascii: ")")
        case UInt8(ascii: "["): UInt8(ascii: "]")
        case UInt8(ascii: "{"): UInt8(ascii: "}")
        default: nil
        }
    }

    /// Whether it stands between a name and its value, perhaps with others: `=`, `:`, `==`, `=>`, `:=`.
    static func isSign(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "=") || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ">")
    }

    static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == UInt8(ascii: "\t") }

    static func isLineEnd(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }

    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    static func isNameByte(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }

    static func isLocalByte(_ byte: UInt8) -> Bool {
        isNameByte(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "%")
    }

    static func isTokenByte(_ byte: UInt8) -> Bool {
        isLocalByte(byte) || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "=")
    }

    static func isStartOfWord(_ bytes: ScannedText, _ place: Int) -> Bool {
        place == 0 || !isAlphanumeric(bytes[place - 1])
    }

    /// Whether lowercase bytes stand there, in any case.
    static func hasPrefix(_ prefix: [UInt8], _ bytes: ScannedText, at place: Int) -> Bool {
        guard prefix.count <= bytes.count - place else { return false }
        for (offset, byte) in prefix.enumerated() {
            let other = bytes[place + offset]
            let isUpper = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(other)
            guard (isUpper ? other | 0x20 : other) == byte else { return false }
        }
        return true
    }
}
