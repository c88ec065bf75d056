/// The name of a function without what changes while the function stays the same.
///
/// Optimisers make copies of functions for one caller or one type, and number closures and local functions in the order of the
/// source.
enum StableName {
    /// Longer names are cut before anything is looked for in them.
    private static let limit = 4096

    /// What the demangler of Swift puts before the name of a copy or of glue.
    private static let prefixes = [
        "specialized ", "merged ", "@objc ", "@nonobjc ", "partial apply for ", "partial apply forwarder for ",
        "dispatch thunk of ", "dynamic ", "implicit ",
    ]

    /// The same with something between the name and ` of `.
    private static let longPrefixes = [
        "generic specialization <", "generic not re-abstracted specialization <", "function signature specialization <",
        "generic pre-specialization <",
    ]

    /// What LLVM and GCC append to the names of copies and of parts.
    private static let cloneSuffixes = [
        ".cold", ".part.", ".isra.", ".constprop.", ".llvm.", ".resume.", ".lto_priv.", ".localalias",
    ]

    /// Makes a name stable.
    ///
    /// - Parameter function: The name, demangled.
    /// - Returns: The name, or all of it if nothing is left.
    static func of(_ function: String) -> String {
        var name = withoutPrefixes(Substring(function.prefix(limit)))
        if let end = name.firstPlace(of: " with unmangled suffix ")?.lowerBound { name = name[..<end] }
        if let end = name.firstPlace(of: " [clone ")?.lowerBound { name = name[..<end] }
        for suffix in cloneSuffixes {
            if let end = name.firstPlace(of: suffix)?.lowerBound, end > name.startIndex { name = name[..<end] }
        }
        let stable = withoutArguments(withoutNumbers(name))
        return stable.isEmpty ? function : stable
    }

    /// The names of frames; a closure whose function is on the stack has that function's name, as in code where it was inlined.
    ///
    /// - Parameter frames: Frames of one stack.
    /// - Returns: A name for each frame that has one.
    static func functions(of frames: [CrashReport.Frame]) -> [String] {
        let names = frames.compactMap { $0.function.map(of) }
        let present = Set(names)
        return names.map { name in
            guard let parent = parent(ofClosure: name), present.contains(parent) else { return name }
            return parent
        }
    }

    /// The function that a closure is written in, in the form that counts; nil for what is no closure.
    static func parent(ofClosure function: String) -> String? {
        var name = Substring(of(function))
        guard name.hasPrefix("closure"), name.holds(" in ") else { return nil }
        // One closure in another: `closure in closure in f()`, with a type in between in the long form.
        while name.hasPrefix("closure"), let parent = name.firstPlace(of: " in ") { name = name[parent.upperBound...] }
        return String(name)
    }

    private static func withoutPrefixes(_ name: Substring) -> Substring {
        var name = name
        while true {
            if let prefix = prefixes.first(where: name.hasPrefix) {
                name = name.dropFirst(prefix.count)
            } else if longPrefixes.contains(where: name.hasPrefix), let end = name.firstPlace(of: "> of ")?.upperBound {
                name = name[end...]
            } else if name.hasPrefix("("), let end = name.firstPlace(of: " partial function for ")?.upperBound {
                // `(1) await resume partial function for f()`: the rest of an asynchronous function.
                name = name[end...]
            } else {
                return name
            }
        }
    }

    /// Without the numbers of closures and local functions, and without the marks of private names: ` #1`, ` in _0A1B…`.
    private static func withoutNumbers(_ name: Substring) -> Substring {
        var stable = Substring()
        var rest = name
        while let space = rest.firstIndex(of: " ") {
            stable += rest[..<space]
            rest = rest[space...]
            let next = rest.dropFirst()
            if next.first == "#", let digit = next.dropFirst().first, digit.isASCII, digit.isNumber {
                rest = next.dropFirst().drop { $0.isASCII && $0.isNumber }
            } else if next.hasPrefix("in _"), next.dropFirst(4).prefix(32).allSatisfy(\.isHexDigit),
                next.dropFirst(4).prefix(32).count == 32
            {
                rest = next.dropFirst(36)
            } else {
                stable += " "
                rest = next
            }
        }
        return stable + rest
    }

    /// Without generic arguments and those of templates: what stands in `<…>` behind a name.
    private static func withoutArguments(_ name: Substring) -> String {
        var stable = ""
        var rest = name
        while let open = rest.firstIndex(of: "<") {
            stable += rest[..<open]
            rest = rest[open...]
            let isBehindName = stable.last.map { $0.isLetter || $0.isNumber || $0 == "_" } ?? false
            if isBehindName, !stable.hasSuffix("operator"), let end = closing(rest) {
                rest = rest[end...]
            } else {
                stable += "<"
                rest = rest.dropFirst()
            }
        }
        return stable + rest
    }

    /// Behind the bracket that closes the one at the start.
    private static func closing(_ text: Substring) -> Substring.Index? {
        var depth = 0
        var last: Character?
        for index in text.indices {
            let character = text[index]
            if character == "<" { depth += 1 }
            // Not that of an arrow.
            if character == ">", last != "-" { depth -= 1 }
            if depth == 0 { return text.index(after: index) }
            last = character
        }
        return nil
    }
}
