internal import CrashReports

/// A key with a value, as OTLP writes it in JSON.
struct OTLPAttribute: Sendable, Hashable {
    /// Numbers of 64 bits are strings in JSON, as protobuf has it.
    enum Value: Sendable, Hashable {
        case string(String)
        case integer(Int)
        case number(Double)
        case bool(Bool)
        case array([Value])
        case keys([OTLPAttribute])

        var json: JSONValue {
            switch self {
            case .string(let value): .object(["stringValue": .string(value)])
            case .integer(let value): .object(["intValue": .string(String(value))])
            // `NaN` and `Infinity` are strings there, too, but of other spelling than Swift's.
            case .number(let value): .object(["doubleValue": .number(value.isFinite ? value : 0)])
            case .bool(let value): .object(["boolValue": .bool(value)])
            case .array(let values): .object(["arrayValue": .object(["values": .array(values.map(\.json))])])
            case .keys(let keys): .object(["kvlistValue": .object(["values": .array(keys.map(\.json))])])
            }
        }
    }

    var key: String
    var value: Value

    var json: JSONValue {
        .object(["key": .string(key), "value": value.json])
    }
}

/// Attributes one after the other; what is absent is left out.
struct OTLPAttributes {
    private(set) var list: [OTLPAttribute] = []

    /// The longest text that is passed on, in characters.
    static let longestText = 32_768

    mutating func add(_ key: String, _ text: String?) {
        guard let text, !text.isEmpty else { return }
        list.append(OTLPAttribute(key: key, value: .string(text.limited(to: Self.longestText))))
    }

    mutating func add(_ key: String, _ number: Int?) {
        guard let number else { return }
        list.append(OTLPAttribute(key: key, value: .integer(number)))
    }

    mutating func add(_ key: String, _ flag: Bool?) {
        guard let flag else { return }
        list.append(OTLPAttribute(key: key, value: .bool(flag)))
    }

    mutating func add(_ key: String, _ texts: [String]) {
        guard !texts.isEmpty else { return }
        let values = texts.map { OTLPAttribute.Value.string($0.limited(to: Self.longestText)) }
        list.append(OTLPAttribute(key: key, value: .array(values)))
    }

    mutating func add(_ key: String, _ value: OTLPAttribute.Value) {
        list.append(OTLPAttribute(key: key, value: value))
    }
}
