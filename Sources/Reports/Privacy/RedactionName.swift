/// A name as rules look at it: in lowercase and without what stands between its words.
///
/// `apiKey`, `API_KEY` and `--api-key` are "api" and "key". Letters beyond ASCII are words of their own, whose case counts.
struct RedactionName {
    /// All words, without anything between them.
    private(set) var bytes: [UInt8] = []
    /// Where words begin, but the first.
    private var starts: [Int] = []

    init(_ name: ArraySlice<UInt8>) {
        bytes.reserveCapacity(name.count)
        var wasLower = false
        var isBetween = false
        var wasASCII = true
        for byte in name {
            let isUpper = RedactionScanner.folded(byte) != byte
            let isLower = !isUpper && RedactionScanner.isAlphanumeric(byte)
            let isASCII = byte < 0x80
            guard isUpper || isLower || !isASCII else {
                isBetween = true
                wasLower = false
                continue
            }
            if !bytes.isEmpty, isBetween || (isUpper && wasLower) || isASCII != wasASCII { starts.append(bytes.count) }
            bytes.append(RedactionScanner.folded(byte))
            isBetween = false
            wasLower = isLower
            wasASCII = isASCII
        }
    }

    /// Whether the letters of a word stand in it, across its own words.
    func contains(_ word: [UInt8]) -> Bool {
        guard let first = word.first, word.count <= bytes.count else { return false }
        return (0...(bytes.count - word.count)).contains { bytes[$0] == first && matches(word, at: $0) }
    }

    /// Whether it has a word by itself.
    func hasWord(_ word: [UInt8]) -> Bool {
        var start = 0
        for end in starts + [bytes.count] {
            if end - start == word.count, matches(word, at: start) { return true }
            start = end
        }
        return false
    }

    private func matches(_ word: [UInt8], at start: Int) -> Bool {
        bytes[start..<start + word.count].elementsEqual(word)
    }
}
