internal import FoundationEssentials
internal import LinuxSystem

/// The way JSON is written here.
package enum JSONText {
    /// Writes a value: pretty-printed, keys sorted, a newline at the end.
    ///
    /// - Parameter value: What to write.
    /// - Returns: UTF-8 without any character that controls a terminal: those are escaped.
    /// - Throws: `ReportFormatError` when JSON cannot say the value.
    package static func encode(_ value: some Encodable) throws(ReportFormatError) -> [UInt8] {
        try encode(value, [.prettyPrinted])
    }

    /// Writes a value as `encode` does, but in one line.
    package static func line(_ value: some Encodable) throws(ReportFormatError) -> [UInt8] {
        try encode(value, [])
    }

    private static func encode(
        _ value: some Encodable,
        _ format: JSONEncoder.OutputFormatting
    ) throws(ReportFormatError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = format.union([.sortedKeys, .withoutEscapingSlashes])
        do {
            return finished(try encoder.encode(value))
        } catch {
            let explanation = (error as? EncodingError)?.explanation ?? "\(error)"
            throw ReportFormatError(code: .unrepresentable, explanation: explanation)
        }
    }

    /// Makes what the encoder wrote fit for a terminal, and closes empty brackets.
    ///
    /// It escapes only the controls below U+0020, and writes the brackets of what is empty with an empty line in between.
    private static func finished(_ json: some Collection<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var isEmptyLine = false
        for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
            if scalar == "\n", result.last == newline {
                // Line breaks inside of strings are escaped, so an empty line means just this.
                result.removeLast()
                isEmptyLine = true
            } else if isEmptyLine, scalar == " " {
                continue
            } else if scalar == "\n" || !TerminalText.isUnsafe(scalar) {
                isEmptyLine = false
                result += UTF8.encode(scalar) ?? .init()
            } else {
                for unit in UTF16.encode(scalar) ?? .init() {
                    result += Array("\\u\(HexDigits.text(UInt64(unit), count: 4))".utf8)
                }
            }
        }
        result.append(newline)
        return result
    }

    private static let newline = UInt8(ascii: "\n")
}
