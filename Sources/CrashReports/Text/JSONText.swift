internal import FoundationEssentials

/// The way JSON is written here.
public enum JSONText {
    /// Writes a value: pretty-printed, keys sorted, a newline at the end.
    ///
    /// - Parameter value: What to write.
    /// - Returns: UTF-8 without any character that controls a terminal: those are escaped.
    /// - Throws: `ReportFormatError` when JSON cannot say the value.
    public static func encode(_ value: some Encodable) throws(ReportFormatError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            let text = String(decoding: try encoder.encode(value), as: UTF8.self)
            return Array(escaped(closingEmptyBrackets(in: text)).utf8) + [UInt8(ascii: "\n")]
        } catch let error as EncodingError {
            throw ReportFormatError(code: .unrepresentable, explanation: error.explanation)
        } catch {
            throw ReportFormatError(code: .unrepresentable, explanation: "\(error)")
        }
    }

    /// Writes a value in one line, keys sorted, a newline at the end.
    ///
    /// - Parameter value: What to write.
    /// - Returns: UTF-8 without any character that controls a terminal: those are escaped.
    /// - Throws: `ReportFormatError` when JSON cannot say the value.
    public static func line(_ value: some Encodable) throws(ReportFormatError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            let text = String(decoding: try encoder.encode(value), as: UTF8.self)
            return Array(escaped(text).utf8) + [UInt8(ascii: "\n")]
        } catch let error as EncodingError {
            throw ReportFormatError(code: .unrepresentable, explanation: error.explanation)
        } catch {
            throw ReportFormatError(code: .unrepresentable, explanation: "\(error)")
        }
    }

    /// Escapes what the encoder leaves: it knows only of the controls below U+0020.
    private static func escaped(_ json: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in json.unicodeScalars {
            // Controls are inside of strings, save for the line breaks of the pretty-printing.
            guard scalar != "\n", TerminalText.isUnsafe(scalar) else {
                result.append(scalar)
                continue
            }
            for unit in UTF16.encode(scalar) ?? .init() {
                let digits = String(unit, radix: 16)
                let escape = "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                result.append(contentsOf: escape.unicodeScalars)
            }
        }
        return String(result)
    }

    /// Joins the brackets of empty arrays and objects, which the encoder writes with an empty line in between.
    private static func closingEmptyBrackets(in json: String) -> String {
        var lines: [Substring] = []
        var isAfterEmptyLine = false
        // Line breaks inside of strings are escaped, so an empty line means just this.
        for line in json.split(separator: "\n", omittingEmptySubsequences: false) {
            if isAfterEmptyLine, let last = lines.popLast() {
                lines.append(last + line.drop { $0 == " " })
                isAfterEmptyLine = false
            } else if line.isEmpty {
                isAfterEmptyLine = true
            } else {
                lines.append(line)
            }
        }
        return lines.joined(separator: "\n")
    }
}
