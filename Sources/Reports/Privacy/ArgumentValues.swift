/// Takes secrets out of command lines.
extension TextRedaction {
    /// Arguments without the values that look like secrets: of options whose name says so, and by the rules for texts.
    ///
    /// - Parameter arguments: The arguments, without the program's name.
    /// - Returns: As many; byte for byte the same where nothing was found.
    package func redactValues(of arguments: ArraySlice<[UInt8]>) -> [[UInt8]] {
        let mark = Array(Self.mark.utf8)
        var told: [[UInt8]] = []
        var isSecretNext = false
        var areOptionsOver = false
        for argument in arguments {
            let text = String(decoding: argument, as: UTF8.self)
            let isOption = !areOptionsOver && Self.isOption(text)
            if isSecretNext, !(isOption && Self.looksLikeName(text)) {
                isSecretNext = false
                told.append(mark)
                continue
            }
            isSecretNext = false
            if text == "--" { areOptionsOver = true }
            if let (name, value) = Self.splitOption(text), isSecretName(String(name)), !value.isEmpty {
                told.append(Array("\(name)=".utf8) + mark)
                continue
            }
            isSecretNext = isOption && Self.splitOption(text) == nil && isSecretName(text)
            let redacted = redact(text)
            // Byte for byte if nothing was found: it need not be UTF-8.
            told.append(redacted == text ? argument : Array(redacted.utf8))
        }
        return told
    }

    /// Whether an argument is an option.
    package static func isOption(_ text: String) -> Bool {
        text.hasPrefix("-") && text.count > 1
    }

    /// Whether it is `--name` or `-n`, and not a value that happens to begin with a hyphen.
    private static func looksLikeName(_ text: String) -> Bool {
        text.hasPrefix("--") || text.count == 2
    }

    /// The two halves of `--name=value`; nil for what has none.
    package static func splitOption(_ text: String) -> (name: Substring, value: Substring)? {
        guard let sign = text.firstIndex(of: "=") else { return nil }
        return (text[..<sign], text[text.index(after: sign)...])
    }
}
