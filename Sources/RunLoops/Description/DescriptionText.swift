/// Writes values in the manner of CFRunLoop's description: `key = value`, an object per line.
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

    /// Returns a string in quotes, in which nothing controls a terminal or the order of text.
    static func quoted(_ string: String) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case _ where scalar.isHostile: text += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}
