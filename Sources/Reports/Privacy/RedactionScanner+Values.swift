/// Where the value behind the name of a secret stands.
///
/// What is opened in a value by a bracket or a quote belongs to it until it is closed again: `Optional("…")`, `["…"]` and
/// `Token(value: "…")` are one value each. What is not closed takes the rest of its line.
extension RedactionScanner {
    /// What closes a bracket is looked for in as many bytes, so that many open ones do not take the square of the time.
    ///
    /// No message in a record is longer.
    private static var reach: Int { 1024 }

    /// The value behind a sign: in quotes, or up to the next space or the end of what holds it.
    ///
    /// That of a header goes to the end of its line.
    static func value(in bytes: ScannedText, after place: Int, isHeader: Bool) -> Range<Int>? {
        guard let start = startOfValue(in: bytes, after: place) else { return nil }
        guard isHeader else {
            if isQuote(bytes[start]) { return quotation(in: bytes, from: start) }
            return credentials(in: bytes, of: expression(in: bytes, from: start), isHeader: false)
        }
        var end = start
        if let enclosed = enclosed(in: bytes, from: start) {
            end = enclosed.end
            // It ends there, unless other cookies follow.
            if end == bytes.count || bytes[end] != UInt8(ascii: ";") { return enclosed.value }
        }
        return credentials(in: bytes, of: start..<endOfLine(in: bytes, from: end), isHeader: true)
    }

    /// What stands up to a space or a mark that ends a value.
    static func word(in bytes: ScannedText, from start: Int) -> Range<Int> {
        var end = start
        while end < bytes.count, bytes[end] > 0x20, !isEnd(bytes[end]) { end += 1 }
        return min(start, bytes.count)..<max(min(start, bytes.count), end)
    }

    /// Behind all spaces and further signs, as in `name == value` and `name => value`; nil for none.
    ///
    /// It may be on the next line, but not where that begins with a name of its own.
    private static func startOfValue(in bytes: ScannedText, after place: Int) -> Int? {
        var start = place
        var isOnNextLine = false
        while start < bytes.count, bytes[start] <= 0x20 || isSign(bytes[start]) {
            isOnNextLine = isOnNextLine || isLineEnd(bytes[start])
            start += 1
        }
        return start == bytes.count || isOnNextLine && isNamed(in: bytes, from: start) ? nil : start
    }

    /// Whether a name and a sign stand there, `name: ` or `name=value`, and not something like the `c2VjcmV0==` of base64.
    private static func isNamed(in bytes: ScannedText, from start: Int) -> Bool {
        var end = start
        while end < bytes.count, end - start < 100, isNameByte(bytes[end]) { end += 1 }
        guard end > start else { return false }
        var sign = end
        while sign < bytes.count, isBlank(bytes[sign]) { sign += 1 }
        guard sign < bytes.count, isSign(bytes[sign]) else { return false }
        let next = sign + 1 < bytes.count ? bytes[sign + 1] : 0
        if sign > end { return true }
        return bytes[sign] == UInt8(ascii: ":") ? next <= 0x20 : next > 0x20 && !isSign(next)
    }

    /// "Authorization: Bearer …": the scheme may stay, what follows it must not.
    private static func credentials(in bytes: ScannedText, of value: Range<Int>, isHeader: Bool) -> Range<Int>? {
        guard !value.isEmpty else { return nil }
        let first = word(in: bytes, from: value.lowerBound)
        // Of the first two it is one word: RFC 6750, section 2.1, and RFC 7617, section 2.
        for (scheme, isWord) in [("bearer", true), ("basic", true), ("digest", false), ("token", false)]
        where first.count == scheme.utf8.count && (isHeader || first == value) {
            guard hasPrefix(Array(scheme.utf8), bytes, at: first.lowerBound) else { continue }
            var next = first.upperBound
            while next < bytes.count, isBlank(bytes[next]) { next += 1 }
            let credentials =
                isHeader && !isWord ? next..<endOfLine(in: bytes, from: next) : expression(in: bytes, from: next)
            return credentials.isEmpty ? value : credentials
        }
        return value
    }

    // MARK: What is closed again

    /// What stands up to a space or a mark that ends a value, with all that is opened in it.
    private static func expression(in bytes: ScannedText, from start: Int) -> Range<Int> {
        var end = start
        while end < bytes.count, bytes[end] > 0x20 {
            if closingBracket(of: bytes[end]) != nil {
                end = endOfBrackets(in: bytes, from: end) ?? endOfLine(in: bytes, from: end)
            } else if isOpeningQuote(in: bytes, at: end, ofValueFrom: start) {
                end = endOfQuotation(in: bytes, from: end, isOneLine: true) ?? endOfLine(in: bytes, from: end)
            } else if isEnd(bytes[end]), !isInWord(in: bytes, at: end) {
                break
            } else {
                end += 1
            }
        }
        // What is followed by a colon is a name, perhaps that of another secret.
        while end > start, bytes[end - 1] == UInt8(ascii: ":") { end -= 1 }
        return start..<end
    }

    /// What stands in quotes, without them; to the end of the text where that was cut off.
    private static func quotation(in bytes: ScannedText, from start: Int) -> Range<Int> {
        start + 1..<(endOfQuotation(in: bytes, from: start).map { $0 - 1 } ?? bytes.count)
    }

    /// A value that says itself where it ends, and what is behind it: quotes, brackets, and what was taken out before.
    private static func enclosed(in bytes: ScannedText, from start: Int) -> (value: Range<Int>, end: Int)? {
        if isQuote(bytes[start]) {
            let value = quotation(in: bytes, from: start)
            return (value, min(value.upperBound + 1, bytes.count))
        }
        let end = hasPrefix(mark, bytes, at: start) ? start + mark.count : endOfBrackets(in: bytes, from: start)
        return end.map { (start..<$0, $0) }
    }

    /// Behind the quote that closes the one at a place; nil when there is none.
    private static func endOfQuotation(
        in bytes: ScannedText,
        from place: Int,
        limit: Int = .max,
        isOneLine: Bool = false
    ) -> Int? {
        let limit = min(limit, bytes.count)
        var next = place + 1
        while next < limit, bytes[next] != bytes[place] {
            if bytes[next] == UInt8(ascii: "\\") { next += 1 }
            if isOneLine, next < limit, isLineEnd(bytes[next]) { return nil }
            next += 1
        }
        return next < limit ? next + 1 : nil
    }

    /// Behind the bracket that closes the one at a place, on whatever line; nil when there is none, or none within reach.
    private static func endOfBrackets(in bytes: ScannedText, from place: Int) -> Int? {
        guard let closing = closingBracket(of: bytes[place]) else { return nil }
        let limit = min(bytes.count, place + reach)
        var depth = 0
        var next = place
        while next < limit {
            if isQuote(bytes[next]), !isApostrophe(in: bytes, at: next) {
                guard let end = endOfQuotation(in: bytes, from: next, limit: limit) else { return nil }
                next = end
                continue
            }
            if bytes[next] == bytes[place] { depth += 1 }
            if bytes[next] == closing { depth -= 1 }
            next += 1
            if depth == 0 { return next }
        }
        return nil
    }

    /// Where the line of a place ends.
    private static func endOfLine(in bytes: ScannedText, from place: Int) -> Int {
        var end = place
        while end < bytes.count, !isLineEnd(bytes[end]) { end += 1 }
        return end
    }

    /// Whether a quote opens something, by what is next to it: the one behind `password=x` in quotes closes what is around it.
    private static func isOpeningQuote(in bytes: ScannedText, at place: Int, ofValueFrom start: Int) -> Bool {
        guard isQuote(bytes[place]), place + 1 < bytes.count else { return false }
        let next = bytes[place + 1]
        guard next > 0x20, !isEnd(next), !isBehindQuotation(next) else { return false }
        guard isApostrophe(in: bytes, at: place) else { return true }
        // `b'…'` of Python, but not the one of "don't".
        return place == start + 1 && "bru".utf8.contains(bytes[start] | 0x20)
    }

    /// Whether a single quote stands behind a letter or a digit: it opens nothing.
    private static func isApostrophe(in bytes: ScannedText, at place: Int) -> Bool {
        bytes[place] == UInt8(ascii: "'") && place > 0 && isAlphanumeric(bytes[place - 1])
    }

    /// Whether it is that of "don't".
    private static func isInWord(in bytes: ScannedText, at place: Int) -> Bool {
        isApostrophe(in: bytes, at: place) && place + 1 < bytes.count && isAlphanumeric(bytes[place + 1])
    }
}
