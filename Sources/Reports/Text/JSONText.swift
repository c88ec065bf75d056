internal import FoundationEssentials

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
    /// It escapes only the controls below U+0020, and writes the brackets of what is empty with an empty line in between. Bytes, for a
    /// report has tens of thousands of them, nearly all of which stay.
    private static func finished(_ json: some Sequence<UInt8>) -> [UInt8] {
        let json = Array(json)
        var result: [UInt8] = []
        result.reserveCapacity(json.count + 1)
        var index = 0
        while index < json.count {
            let byte = json[index]
            if byte >= UInt8(ascii: " "), byte < 0x7f {
                result.append(byte)
                index += 1
            } else if byte == newline {
                // Line breaks inside of strings are escaped, so an empty line means just this.
                let isEmptyLine = index + 1 < json.count && json[index + 1] == newline
                index += isEmptyLine ? 2 : 1
                guard isEmptyLine else {
                    result.append(byte)
                    continue
                }
                while index < json.count, json[index] == UInt8(ascii: " ") { index += 1 }
            } else {
                let end = min(index + length(ofScalarAt: byte), json.count)
                append(json[index..<end], to: &result)
                index = end
            }
        }
        result.append(newline)
        return result
    }

    private static let newline = UInt8(ascii: "\n")

    /// How many bytes a scalar has that begins so (RFC 3629, section 3).
    private static func length(ofScalarAt byte: UInt8) -> Int {
        switch byte {
        case 0xc0..<0xe0: 2
        case 0xe0..<0xf0: 3
        case 0xf0...: 4
        default: 1
        }
    }

    private static func append(_ bytes: ArraySlice<UInt8>, to result: inout [UInt8]) {
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            guard TerminalText.isUnsafe(scalar) else {
                result += Array(String(scalar).utf8)
                continue
            }
            for unit in UTF16.encode(scalar) ?? .init() {
                let digits = String(unit, radix: 16)
                result += Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8)
            }
        }
    }
}
