/// What the texts of runtimes and of the C library say about a fault.
extension FaultClass {
    /// Words of the Swift runtime and of the standard library (swift/stdlib/public), and the class they mean.
    private static let swiftWords: [(String, FaultClass)] = [
        ("Unexpectedly found nil", .nilUnwrap),
        ("Division by zero", .divisionByZero),
        ("Division results in overflow", .overflow),
        ("Division results in an overflow", .overflow),
        ("arithmetic overflow", .overflow),
        ("Index out of range", .indexOutOfRange),
        ("ndex is out of range", .indexOutOfRange),
        ("Index out of bounds", .indexOutOfRange),
        ("ndex is out of bounds", .indexOutOfRange),
        ("subrange extends past the end", .indexOutOfRange),
        ("out of range", .indexOutOfRange),
        ("from an empty collection", .indexOutOfRange),
        ("invalid Index", .indexOutOfRange),
        ("Not enough bits to represent", .conversion),
        ("Negative value is not representable", .conversion),
        ("cannot be converted to", .conversion),
        ("lowerBound <= upperBound", .invalidRange),
        ("upperBound < lowerBound", .invalidRange),
        ("contains duplicate keys", .duplicateKey),
        ("Duplicate values for key", .duplicateKey),
        ("Duplicate keys of type", .duplicateKey),
        ("Duplicate elements of type", .duplicateKey),
        ("read an unowned reference", .unownedReference),
        ("unowned reference but", .unownedReference),
        ("deallocated with non-zero retain count", .escapedDeinit),
        ("requires exclusive access", .exclusivity),
        ("access conflict", .exclusivity),
        ("Overlapping accesses", .exclusivity),
        ("Incorrect actor executor", .wrongExecutor),
        ("data race detected", .wrongExecutor),
        ("CONTINUATION MISUSE", .continuationMisuse),
        ("continuation more than once", .continuationMisuse),
        ("failed to allocate", .outOfMemory),
        ("ould not allocate memory", .outOfMemory),
        ("LIBDISPATCH", .dispatchMisuse),
    ]

    /// Words of glibc's abort(3) messages (glibc/malloc, glibc/debug), and the class they mean.
    private static let libraryWords: [(String, FaultClass)] = [
        ("double free", .doubleFree),
        ("stack smashing detected", .stackSmash),
        ("buffer overflow detected", .bufferOverflow),
        ("free(): ", .heapCorruption),
        ("malloc(): ", .heapCorruption),
        ("malloc_consolidate(): ", .heapCorruption),
        ("realloc(): ", .heapCorruption),
        ("calloc(): ", .heapCorruption),
        ("munmap_chunk(): ", .heapCorruption),
        ("mremap_chunk(): ", .heapCorruption),
        ("corrupted size", .heapCorruption),
        ("linked list", .heapCorruption),
        ("break adjusted to free malloc space", .heapCorruption),
        ("BUG IN CLIENT OF LIBDISPATCH", .dispatchMisuse),
        ("std::bad_alloc", .outOfMemory),
    ]

    /// Reads a text that came with a trap or an abort; nil if it says nothing.
    ///
    /// - Parameters:
    ///   - message: The text.
    ///   - isAbort: Whether the signal was that of abort(3).
    init?(message: String, isAbort: Bool) {
        guard let line = RuntimeMessage(message) else { return nil }
        if let cast = FaultClass(castIn: line.text) {
            self = cast
            return
        }
        if let said = FaultClass(line) {
            self = said
            return
        }
        // The runtime says some things in several lines.
        let lines = RuntimeMessage.withoutWarnings(String(message.prefix(4096)))
        if let known = Self.swiftWords.first(where: { lines.holds($0.0) && $0.1.isOfSeveralLines }) {
            self = known.1
            return
        }
        guard isAbort else {
            self = .check(line.text)
            return
        }
        if let known = Self.libraryWords.first(where: { line.text.holds($0.0) }) {
            self = known.1
        } else if let assertion = Self.cAssertion(line.text) {
            self = .cAssertion(assertion)
        } else {
            self = .abort(line.text)
        }
    }

    /// Reads the name of a check that failed in optimised code, such as `Index out of range`.
    init(check: String) {
        if let known = Self.swiftWords.first(where: { check.holds($0.0) }) {
            self = known.1
        } else if check == "precondition failure" || check == "precondition failed" {
            self = .precondition("")
        } else if check == "assertion failure" {
            self = .assertion("")
        } else if check == "fatal error" {
            self = .fatalError("")
        } else {
            self = .check(check)
        }
    }

    /// Reads `Fatal error: …`, `Precondition failed: …` and `Assertion failed: …`.
    private init?(_ line: RuntimeMessage) {
        if let check = line.failedCheck {
            let text = check.drop { $0 != ":" }.dropFirst().drop(while: \.isWhitespace)
            self = check.hasPrefix("Precondition") ? .precondition(String(text)) : .assertion(String(text))
            return
        }
        guard let error = line.fatalError else { return nil }
        if error.hasPrefix("'try!' expression unexpectedly raised an error: ") {
            self = .tryBang(error: Self.errorType(error.drop { $0 != ":" }.dropFirst(2)))
            return
        }
        if error.hasPrefix(Self.uncaught) {
            self = .uncaughtError(String(error.dropFirst(Self.uncaught.count)))
            return
        }
        // A program's own text may have any words: only the standard library's begin like this.
        if let known = Self.swiftWords.first(where: { Self.isOwnText($0.0, in: error) }) {
            self = known.1
            return
        }
        self = .fatalError(error)
    }

    /// Whether a text is the standard library's: the words stand at its start, or close to it.
    private static func isOwnText(_ words: String, in text: String) -> Bool {
        guard let range = text.firstPlace(of: words) else { return false }
        return text.distance(from: text.startIndex, to: range.lowerBound) <= 40
    }

    private var isOfSeveralLines: Bool {
        switch self {
        case .exclusivity, .unownedReference, .escapedDeinit, .wrongExecutor, .continuationMisuse, .outOfMemory: true
        default: false
        }
    }

    /// `Could not cast value of type 'A' (0x…) to 'B' (0x…).` (swift/stdlib/public/runtime/Casting.cpp).
    private init?(castIn text: String) {
        guard let range = text.firstPlace(of: "Could not cast value of type '") else { return nil }
        let parts = text[range.upperBound...].split(separator: "'", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count >= 3 else { return nil }
        self = .failedCast(from: String(parts[0]), to: String(parts[2]))
    }

    /// The type of an error that was printed: what comes before its contents.
    private static func errorType(_ text: Substring) -> String {
        var type = text
        // A private type is printed with an address (swift/stdlib/public/core/ReflectionMirror.swift).
        if let start = type.firstPlace(of: "(unknown context at "), let end = type.firstPlace(of: ").") {
            guard start.lowerBound < end.lowerBound else { return "" }
            type = type[..<start.lowerBound] + type[end.upperBound...]
        }
        return String(type.prefix { $0 != "(" && $0 != " " && $0 != ":" })
    }

    /// `PROGRAM: FILE:LINE: FUNCTION: Assertion `TEXT' failed.` (glibc/assert/assert.c): without what a rebuild changes.
    private static func cAssertion(_ text: String) -> String? {
        guard let start = text.firstPlace(of: "Assertion `"), let end = text.lastPlace(of: "' failed")?.lowerBound
        else {
            return nil
        }
        guard start.upperBound <= end else { return nil }
        return String(text[start.upperBound..<end])
    }
}
