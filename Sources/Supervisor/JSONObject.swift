/// Writes a JSON object (RFC 8259), member by member.
struct JSONObject {
    private var members: [String] = []

    /// The object.
    var text: String { "{" + members.joined(separator: ",") + "}" }

    mutating func add(_ key: String, _ value: String) { members.append("\(Self.quoted(key)):\(Self.quoted(value))") }
    mutating func add(_ key: String, _ value: Bool) { members.append("\(Self.quoted(key)):\(value)") }
    mutating func add(_ key: String, _ value: some BinaryInteger) { members.append("\(Self.quoted(key)):\(value)") }

    /// Adds a number; JSON has none that is not finite.
    mutating func add(_ key: String, _ value: Double) {
        members.append("\(Self.quoted(key)):\(value.isFinite ? "\(value)" : "0")")
    }

    mutating func add(_ key: String, _ values: [String]) {
        members.append("\(Self.quoted(key)):[\(values.map(Self.quoted).joined(separator: ","))]")
    }

    mutating func add(_ key: String, _ object: JSONObject) { members.append("\(Self.quoted(key)):\(object.text)") }

    mutating func add(_ key: String, _ values: [JSONObject]) {
        members.append("\(Self.quoted(key)):[\(values.map(\.text).joined(separator: ","))]")
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            default:
                if scalar.value < 0x20 || scalar.value == 0x7f {
                    let digits = String(scalar.value, radix: 16)
                    result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                } else {
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return result + "\""
    }
}
