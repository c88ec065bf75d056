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
        default: return [program] + redaction.redactValues(of: arguments.dropFirst())
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
        guard TextRedaction.isOption(text) else { return Self.mark }
        if let (name, _) = TextRedaction.splitOption(text) { return Array("\(name)=".utf8) + Self.mark }
        // -pVALUE, as some programs take it.
        if !text.hasPrefix("--"), text.count > 2 { return Array(text.prefix(2).utf8) + Self.mark }
        return argument
    }

    private static let mark = Array(TextRedaction.mark.utf8)
}
