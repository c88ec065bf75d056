/// A text in which secrets are being found and replaced.
struct RedactionScanner {
    private(set) var bytes: [UInt8]
    /// Whether anything was replaced.
    private(set) var isChanged = false

    private let counter: ScannedText.LookCounter?

    static let mark = Array(TextRedaction.mark.utf8)

    /// Takes a text, and who counts how often its bytes are looked at.
    init(_ bytes: [UInt8], counting counter: ScannedText.LookCounter?) {
        self.bytes = bytes
        self.counter = counter
    }

    // MARK: Rules

    /// `name=value`, `name: value`, `"name":"value"` where the name is that of a secret.
    mutating func redactNamedValues(isSecret: (RedactionName) -> Bool) {
        replace { bytes, place in
            guard bytes[place] == UInt8(ascii: "=") || bytes[place] == UInt8(ascii: ":") else { return nil }
            var end = place
            // A name may stand in quotes, or have a space behind it.
            while end > 0, Self.isQuote(bytes[end - 1]) || Self.isBlank(bytes[end - 1]) { end -= 1 }
            var start = end
            while start > 0, end - start < 100, Self.isNameByte(bytes[start - 1]) || bytes[start - 1] >= 0x80 {
                start -= 1
            }
            guard start < end else { return nil }
            let name = RedactionName(bytes[start..<end])
            guard isSecret(name) else { return nil }
            let isHeader = Self.headers.contains(where: name.contains)
            return Self.value(in: bytes, after: place + 1, isHeader: isHeader)
        }
    }

    /// Names whose values have spaces and signs of their own.
    private static let headers = ["authorization", "cookie"].map { Array($0.utf8) }

    /// `Bearer …`, `Basic …` and `Digest …`, as in RFC 9110, section 11.
    mutating func redactAuthorizations() {
        let schemes = ["bearer ", "basic ", "digest "].map { Array($0.utf8) }
        replace { bytes, place in
            guard Self.isStartOfWord(bytes, place),
                let scheme = schemes.first(where: { Self.hasPrefix($0, bytes, at: place) })
            else { return nil }
            let range = Self.word(in: bytes, from: place + scheme.count)
            // "basic need" is none: credentials are long.
            return range.count >= 8 ? range : nil
        }
    }

    /// `scheme://user:password@host`, RFC 3986, section 3.2.1.
    mutating func redactURLCredentials() {
        let separator = Array("://".utf8)
        replace { bytes, place in
            guard Self.hasPrefix(separator, bytes, at: place), place > 0, Self.isNameByte(bytes[place - 1]) else {
                return nil
            }
            let start = place + separator.count
            var end = start
            var last: Int?
            // A password may hold an "@" that nobody escaped: up to the last one.
            while end < bytes.count, bytes[end] > 0x20,
                ![UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains(bytes[end])
            {
                if bytes[end] == UInt8(ascii: "@") { last = end }
                end += 1
            }
            return last.map { start..<$0 }
        }
    }

    /// What stands in PEM between the lines of a private key.
    mutating func redactPrivateKeys() {
        let begin = Array("-----begin ".utf8)
        let end = Array("-----end ".utf8)
        let kind = Array("private key-----".utf8)
        replace { bytes, place in
            let isEnd = Self.hasPrefix(end, bytes, at: place)
            guard isEnd || Self.hasPrefix(begin, bytes, at: place) else { return nil }
            let line = place..<min(place + 100, bytes.count)
            guard let name = line.first(where: { Self.hasPrefix(kind, bytes, at: $0) }) else { return nil }
            // The last bytes of a long output may begin within a key.
            if isEnd { return Self.startOfKeyLines(bytes, before: place)..<place }
            let start = name + kind.count
            // A text that was cut off has no end of it.
            let stop = (start..<bytes.count).first { Self.hasPrefix(end, bytes, at: $0) } ?? bytes.count
            return start..<stop
        }
    }

    /// Where the lines of base64 before a place begin: 64 letters each, or 76 (RFC 7468, RFC 2045).
    private static func startOfKeyLines(_ bytes: ScannedText, before place: Int) -> Int {
        var start = place
        var lineEnd = place
        while lineEnd > 0, bytes[lineEnd - 1] == 10 {
            lineEnd -= 1
            if lineEnd > 0, bytes[lineEnd - 1] == 13 { lineEnd -= 1 }
            var lineStart = lineEnd
            while lineStart > 0, lineEnd - lineStart <= 76, isBase64(bytes[lineStart - 1]) { lineStart -= 1 }
            guard lineStart < lineEnd, lineStart == 0 || bytes[lineStart - 1] == 10 else { break }
            start = lineStart
            lineEnd = lineStart
        }
        return start
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        isNameByte(byte) && byte < 0x80 || [UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "=")].contains(byte)
    }

    /// The prefixes of tokens that services give out, and how long one is at least.
    private static let tokenPrefixes: [(prefix: [UInt8], length: Int)] = [
        // JSON Web Tokens, RFC 7519: the start of a base64 object.
        ("eyj", 20),
        // GitHub, GitLab, Slack, Stripe, AWS, Google, npm, PyPI.
        ("ghp_", 20), ("gho_", 20), ("ghs_", 20), ("ghu_", 20), ("github_pat_", 20), ("glpat-", 20), ("xoxb-", 15),
        ("xoxp-", 15),
        ("xoxa-", 15), ("sk_live_", 16), ("rk_live_", 16), ("sk-ant-", 20), ("sk-proj-", 20), ("akia", 20),
        ("aiza", 35), ("npm_", 30),
        ("pypi-", 30),
    ].map { (Array($0.0.utf8), $0.1) }

    /// Tokens that can be told by how they begin.
    mutating func redactTokens() {
        replace { bytes, place in
            guard Self.isStartOfWord(bytes, place),
                let token = Self.tokenPrefixes.first(where: { Self.hasPrefix($0.prefix, bytes, at: place) })
            else { return nil }
            var end = place
            while end < bytes.count, Self.isTokenByte(bytes[end]) { end += 1 }
            return end - place >= token.length ? place..<end : nil
        }
    }

    /// `local@domain.tld`.
    mutating func redactEmailAddresses() {
        replace { bytes, place in
            guard bytes[place] == UInt8(ascii: "@") else { return nil }
            var start = place
            while start > 0, place - start < 64, Self.isLocalByte(bytes[start - 1]) { start -= 1 }
            var end = place + 1
            var hasPoint = false
            while end < bytes.count, Self.isNameByte(bytes[end]) || bytes[end] == UInt8(ascii: ".") {
                hasPoint =
                    hasPoint
                    || (bytes[end] == UInt8(ascii: ".") && end + 1 < bytes.count && Self.isNameByte(bytes[end + 1]))
                end += 1
            }
            while end > place, bytes[end - 1] == UInt8(ascii: ".") { end -= 1 }
            return start < place && hasPoint ? start..<end : nil
        }
    }

    /// A pattern of the program's.
    mutating func redact(_ pattern: TextPattern) {
        replace { bytes, place in
            pattern.match(bytes.bytes, at: place).map { place..<place + $0 }
        }
    }

    // MARK: Replacing

    /// Replaces what `find` returns for each place; what it returns may begin before the place or behind it, and is not looked at again.
    private mutating func replace(_ find: (ScannedText, Int) -> Range<Int>?) {
        let text = ScannedText(bytes: bytes, counter: counter)
        var result: [UInt8] = []
        var copied = 0
        var place = 0
        while place < bytes.count {
            guard let range = find(text, place), !range.isEmpty, range.lowerBound >= copied,
                bytes[range] != Self.mark[...]
            else {
                place += 1
                continue
            }
            result += bytes[copied..<range.lowerBound]
            result += Self.mark
            copied = range.upperBound
            place = max(place + 1, range.upperBound)
        }
        guard copied > 0 else { return }
        bytes = result + bytes[copied...]
        isChanged = true
    }
}
