/// What a description consists of, and how it is written as JSON.
///
/// Foundation's writer is not for this target: a loop does not link Foundation.
indirect enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// Written in hexadecimal digits: JSON has no such numbers, so it is a string there.
    case bits(UInt64)
    case string(String)
    case array([JSONValue])
    /// The members stay in this order.
    case object([Member])

    /// One member of an object.
    struct Member: Hashable, Sendable {
        let name: String
        let value: JSONValue

        init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The value as JSON text in one line.
    ///
    /// Characters that control a terminal or the order of text are escaped.
    var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .bits(let value): text += "\"0x\(String(value, radix: 16))\""
        case .string(let value): Self.write(value, to: &text)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                Self.write(member.name, to: &text)
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }

    private static func write(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case _ where scalar.isHostile:
                // RFC 8259: beyond U+FFFF, the two halves of the UTF-16 form.
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

extension Unicode.Scalar {
    /// Whether it does more than show a glyph: a label may come from anywhere.
    var isHostile: Bool {
        switch properties.generalCategory {
        // C0, DEL and C1; bidirectional overrides, joiners and tags; line and paragraph separators.
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
