internal import CrashReports

/// A value of JSON, for forms that other projects define.
enum JSONValue: Sendable, Hashable {
    case string(String)
    case integer(Int)
    case number(Double)
    case bool(Bool)
    case array([JSONValue])
    case object([String: JSONValue])

    /// An object of those members that there are.
    static func members(_ members: [String: JSONValue?]) -> JSONValue {
        .object(members.compactMapValues(\.self))
    }

    /// An object of strings; nil for an empty one.
    static func strings(_ strings: [String: String]) -> JSONValue? {
        strings.isEmpty ? nil : .object(strings.mapValues(JSONValue.string))
    }

    /// An array; nil for an empty one.
    static func list(_ values: [JSONValue]) -> JSONValue? { values.isEmpty ? nil : .array(values) }

    /// A string, if there is a text.
    init?(_ text: String?) {
        guard let text else { return nil }
        self = .string(text)
    }

    /// An integer, if there is a number.
    init?(_ number: Int?) {
        guard let number else { return nil }
        self = .integer(number)
    }

    /// The value on one line, without a newline at the end.
    ///
    /// - Returns: UTF-8 without any character that controls a terminal: those are escaped.
    func line() throws(ReportFormatError) -> [UInt8] { try JSONText.line(self).dropLast() }
}

extension JSONValue: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        // JSON has no word for infinity.
        case .number(let value): value.isFinite ? try container.encode(value) : try container.encode("\(value)")
        case .bool(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    init(stringLiteral value: String) {
        self = .string(value)
    }

    init(integerLiteral value: Int) {
        self = .integer(value)
    }

    init(booleanLiteral value: Bool) {
        self = .bool(value)
    }
}
