/// A pattern of a text, simple enough to be tried everywhere in no time.
///
/// Characters stand for themselves, whatever their case, apart from these: `#` is a digit, `?` is one character but no space, `*` is any
/// number of characters but no spaces, and `\` takes the meaning from the next. So `ACME-####-####` is a number of a customer, and
/// `sk_live_*` is a key with all that belongs to it.
struct TextPattern: Hashable {
    private enum Part: Hashable {
        case byte(UInt8)
        case digit
        case one
        case many
    }

    private let parts: [Part]

    init(_ text: String) {
        var parts: [Part] = []
        var isLiteral = false
        for byte in text.utf8 {
            if isLiteral {
                parts.append(.byte(RedactionScanner.folded(byte)))
                isLiteral = false
                continue
            }
            switch byte {
            case UInt8(ascii: "\\"): isLiteral = true
            case UInt8(ascii: "#"): parts.append(.digit)
            case UInt8(ascii: "?"): parts.append(.one)
            // Two are one.
            case UInt8(ascii: "*"): if parts.last != .many { parts.append(.many) }
            default: parts.append(.byte(RedactionScanner.folded(byte)))
            }
        }
        self.parts = parts
    }

    /// Whether it would find something everywhere: nothing but `*` and `?`.
    private var isTrivial: Bool {
        !parts.contains { if case .byte = $0 { true } else { $0 == .digit } }
    }

    /// How many bytes it matches from a place on, as many as it can; nil for no match.
    ///
    /// Looks back only to the last `*`, so it takes the length of the pattern times that of the word at most.
    func match(_ bytes: [UInt8], at start: Int) -> Int? {
        guard !isTrivial else { return nil }
        var place = start
        var part = 0
        var lastMany: (part: Int, place: Int)?
        var steps = 0
        while true {
            steps += 1
            // A word that is longer is no word.
            guard steps < 2000 else { return nil }
            if part == parts.count {
                return place > start ? place - start : nil
            }
            if parts[part] == .many {
                // The rest of the word, where nothing follows.
                if part + 1 == parts.count {
                    while place < bytes.count, !Self.isSpace(bytes[place]) { place += 1 }
                    return place > start ? place - start : nil
                }
                lastMany = (part, place)
                part += 1
            } else if place < bytes.count, matches(parts[part], bytes[place]) {
                part += 1
                place += 1
            } else if let many = lastMany, many.place < bytes.count, !Self.isSpace(bytes[many.place]) {
                // The last one takes one more.
                lastMany = (many.part, many.place + 1)
                place = many.place + 1
                part = many.part + 1
            } else {
                return nil
            }
        }
    }

    private func matches(_ part: Part, _ byte: UInt8) -> Bool {
        switch part {
        case .byte(let own): own == RedactionScanner.folded(byte)
        case .digit: RedactionScanner.isDigit(byte)
        case .one, .many: !Self.isSpace(byte)
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte <= 0x20 }
}
