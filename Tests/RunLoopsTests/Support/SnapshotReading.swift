@testable import RunLoops

/// Reading what a snapshot is written of.
extension JSONValue {
    /// A member of an object; null for none.
    subscript(name: String) -> JSONValue {
        guard case .object(let members) = self else { return .null }
        return members.first { $0.name == name }?.value ?? .null
    }

    /// The values of an array; none for anything else.
    var all: [JSONValue] { if case .array(let values) = self { values } else { [] } }

    var string: String? { if case .string(let string) = self { string } else { nil } }
    var number: Int64? { if case .integer(let number) = self { number } else { nil } }
    var bits: UInt64? { if case .bits(let bits) = self { bits } else { nil } }
    var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }

    /// The names in an array of them.
    var strings: [String] { all.compactMap(\.string) }

    /// The labels of an array of items.
    var labels: [String] { all.compactMap { $0["label"].string } }
}

extension HostRunLoop.Snapshot {
    subscript(name: String) -> JSONValue { tree[name] }

    func mode(_ name: String) -> JSONValue { self["modes"].all.first { $0["name"].string == name } ?? .null }
}
