internal import CrashReports

/// Attributes one after the other, each a key with a value as OTLP has it in JSON; what is absent is left out.
struct OTLPAttributes {
    private(set) var list: [JSONValue] = []

    /// The longest text that is passed on, in characters.
    static let longestText = 32_768

    /// A text.
    static func value(_ text: String) -> JSONValue {
        .object(["stringValue": .string(text.limited(to: longestText))])
    }

    mutating func add(_ key: String, _ text: String?) {
        guard let text, !text.isEmpty else { return }
        put(key, Self.value(text))
    }

    /// Numbers of 64 bits are strings in JSON, as protobuf has it.
    mutating func add(_ key: String, _ number: Int?) {
        guard let number else { return }
        put(key, .object(["intValue": .string(String(number))]))
    }

    /// `NaN` and `Infinity` are strings there, too, but of other spelling than Swift's.
    mutating func add(_ key: String, _ number: Double?) {
        guard let number else { return }
        put(key, .object(["doubleValue": .number(number.isFinite ? number : 0)]))
    }

    mutating func add(_ key: String, _ flag: Bool?) {
        guard let flag else { return }
        put(key, .object(["boolValue": .bool(flag)]))
    }

    mutating func add(_ key: String, _ texts: [String]) {
        add(key, values: texts.map(Self.value))
    }

    mutating func add(_ key: String, values: [JSONValue]) {
        guard !values.isEmpty else { return }
        put(key, .object(["arrayValue": .object(["values": .array(values)])]))
    }

    private mutating func put(_ key: String, _ value: JSONValue) {
        list.append(.object(["key": .string(key), "value": value]))
    }
}
