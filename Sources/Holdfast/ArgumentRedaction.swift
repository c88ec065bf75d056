internal import CrashReports

/// Takes out of a command line what may not be told.
struct ArgumentRedaction {
    let policy: PrivacyPolicy.Arguments
    let redaction: TextRedaction

    /// The arguments as they may be told, the program's name first.
    func redact(_ arguments: [[UInt8]]) -> [[UInt8]] {
        guard let program = arguments.first, policy != .all else { return arguments }
        switch policy.value {
        case .none: return [program]
        case .namesOnly: return [program] + names(arguments.dropFirst())
        default: return [program] + values(arguments.dropFirst())
        }
    }

    /// The names of options; behind `--` there are none.
    private func names(_ arguments: ArraySlice<[UInt8]>) -> [[UInt8]] {
        let end = arguments.firstIndex(of: Array("--".utf8)) ?? arguments.endIndex
        let values = arguments[end...].dropFirst().map { _ in Self.mark }
        return arguments[..<end].map(name) + arguments[end...].prefix(1) + values
    }

    private func name(_ argument: [UInt8]) -> [UInt8] {
        let text = String(decoding: argument, as: UTF8.self)
        guard Self.isOption(text) else { return Self.mark }
        if let (name, _) = Self.split(text) { return Array("\(name)=".utf8) + Self.mark }
        // -pVALUE, as some programs take it.
        if !text.hasPrefix("--"), text.count > 2 { return Array(text.prefix(2).utf8) + Self.mark }
        return argument
    }

    private func values(_ arguments: ArraySlice<[UInt8]>) -> [[UInt8]] {
        var told: [[UInt8]] = []
        var isSecretNext = false
        var areOptionsOver = false
        for argument in arguments {
            let text = String(decoding: argument, as: UTF8.self)
            let isOption = !areOptionsOver && Self.isOption(text)
            if isSecretNext, !(isOption && Self.looksLikeName(text)) {
                isSecretNext = false
                told.append(Self.mark)
                continue
            }
            isSecretNext = false
            if text == "--" { areOptionsOver = true }
            if let (name, value) = Self.split(text), redaction.isSecretName(String(name)), !value.isEmpty {
                told.append(Array("\(name)=".utf8) + Self.mark)
                continue
            }
            isSecretNext = isOption && Self.split(text) == nil && redaction.isSecretName(text)
            let redacted = redaction.redact(text)
            // Byte for byte if nothing was found: it need not be UTF-8.
            told.append(redacted == text ? argument : Array(redacted.utf8))
        }
        return told
    }

    private static let mark = Array(TextRedaction.mark.utf8)

    private static func isOption(_ text: String) -> Bool {
        text.hasPrefix("-") && text.count > 1
    }

    /// Whether it is `--name` or `-n`, and not a value that happens to begin with a hyphen.
    private static func looksLikeName(_ text: String) -> Bool {
        text.hasPrefix("--") || text.count == 2
    }

    private static func split(_ text: String) -> (name: Substring, value: Substring)? {
        guard let sign = text.firstIndex(of: "=") else { return nil }
        return (text[..<sign], text[text.index(after: sign)...])
    }
}
