extension HostRunLoop: CustomStringConvertible {
    /// The loop at this moment, in one line.
    ///
    /// Callable from any thread.
    public var description: String {
        let mode = currentMode.map { DescriptionText.quoted($0.rawValue) } ?? "(none)"
        return "<HostRunLoop \(isMain ? "main, " : "")current mode = \(mode)>"
    }
}

/// Writes values in the style of CFRunLoop's description: `key = value`, one object per line.
enum DescriptionText {
    /// Writes an object with the name of its type.
    static func write(type: String, _ object: JSONValue, depth: Int, to text: inout String) {
        text += "<\(type)>{"
        guard case .object(let members) = object else { return }
        for (index, member) in members.enumerated() {
            if index > 0 { text += "," }
            text += isLong(member.value) || depth == 0 ? lineBreak(depth + 1) : index > 0 ? " " : ""
            text += words(member.name) + " = "
            write(member.value, depth: depth + 1, to: &text)
        }
        text += depth == 0 ? lineBreak(0) + "}" : "}"
    }

    private static func write(_ value: JSONValue, depth: Int, to text: inout String) {
        switch value {
        case .null: text += "(none)"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .bits(let value): text += "0x" + String(value, radix: 16)
        case .string(let value): text += quoted(value)
        case .object: write(type: "item", value, depth: depth, to: &text)
        case .array(let values):
            text += "("
            for (index, value) in values.enumerated() {
                if case .object = value {
                    text += (index > 0 ? "," : "") + lineBreak(depth + 1)
                } else if index > 0 {
                    text += ", "
                }
                write(value, depth: depth + 1, to: &text)
            }
            text += isLong(.array(values)) ? lineBreak(depth) + ")" : ")"
        }
    }

    /// Whether a value takes lines of its own.
    private static func isLong(_ value: JSONValue) -> Bool {
        guard case .array(let values) = value, case .object = values.first else { return false }
        return true
    }

    private static func lineBreak(_ depth: Int) -> String {
        "\n" + String(repeating: "    ", count: depth)
    }

    /// Splits a name such as `nextFireDate` into words.
    private static func words(_ name: String) -> String {
        var words = ""
        for character in name {
            words += character.isUppercase ? " " + character.lowercased() : String(character)
        }
        return words
    }

    /// Returns a string in quotes, with characters escaped that control a terminal or the order of text.
    static func quoted(
        _ string: String,
        escaping escaped: (Unicode.Scalar) -> String = { "\\u{" + String($0.value, radix: 16) + "}" }
    ) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case _ where scalar.isHostile: text += escaped(scalar)
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}

/// The parts of a description, and how they are written as JSON.
///
/// Foundation's writer is not available here, because a loop does not link Foundation.
indirect enum JSONValue: Sendable, ExpressibleByDictionaryLiteral {
    case null
    case bool(Bool)
    case integer(Int64)
    /// Written in hexadecimal digits: JSON has no such numbers, so it is a string there.
    case bits(UInt64)
    case string(String)
    case array([JSONValue])
    /// The members stay in this order.
    case object([(name: String, value: JSONValue)])

    init(dictionaryLiteral members: (String, JSONValue)...) { self = .object(members) }

    /// The value as JSON text in one line.
    ///
    /// Characters that control a terminal or the order of text are escaped.
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .bits(let value): "\"0x\(String(value, radix: 16))\""
        case .string(let value): Self.quoted(value)
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0.name) + ":" + $0.value.text }.joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ string: String) -> String {
        DescriptionText.quoted(string) { scalar in
            // RFC 8259: beyond U+FFFF, the two halves of the UTF-16 form.
            String(scalar).utf16.map { "\\u" + String(0x10000 + UInt32($0), radix: 16).dropFirst() }.joined()
        }
    }
}

extension Unicode.Scalar {
    /// Whether it can do more than show a glyph; a label may come from an untrusted source.
    var isHostile: Bool {
        switch properties.generalCategory {
        // C0, DEL and C1; bidirectional overrides, joiners and tags; line and paragraph separators.
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
