import FoundationEssentials

/// One line of the table: what was measured, and what others take for the same.
struct Row {
    /// A program or a way of doing it, with its value.
    struct Peer {
        let name: String
        /// In the unit of the row; `nil` if it could not be measured.
        let value: Double?
    }

    let name: String
    /// `ns`, `us`, `calls` or `wake-ups`; lower is better in all.
    let unit: String
    /// What Holdfast takes; `nil` if it could not be measured.
    let value: Double?
    let peers: [Peer]

    init(_ name: String, unit: String = "ns", _ value: Double?, peers: [Peer] = []) {
        self.name = name
        self.unit = unit
        self.value = value
        self.peers = peers
    }

    /// A row in nanoseconds with one peer that only it has.
    init(_ name: String, _ value: Double, peer: (name: String, value: Double)) {
        self.init(name, value, peers: [Peer(name: peer.name, value: peer.value)])
    }
}

/// Which rows are wanted.
struct RowFilter {
    private let pattern: String?

    /// - Parameter pattern: A part of the names, or a regular expression that finds one; `nil` for all rows.
    init(_ pattern: String?) {
        self.pattern = pattern?.lowercased()
    }

    func wants(_ name: String) -> Bool {
        guard let pattern else { return true }
        let name = name.lowercased()
        if name.contains(pattern) { return true }
        guard let expression = try? Regex(pattern) else { return false }
        return name.contains(expression)
    }
}

/// Rows as people and as programs read them.
struct Table {
    /// The peers that have a column of their own.
    let columns: [String]
    private(set) var rows: [Row] = []
    /// What has to be said about single values.
    private(set) var notes: [String] = []

    init(columns: [String]) {
        self.columns = columns
    }

    mutating func add(_ row: Row) { rows.append(row) }

    /// Adds a sentence, once.
    mutating func add(note: String) {
        if !notes.contains(note) { notes.append(note) }
    }

    // MARK: For people

    /// The table; behind each peer's value stands how many times Holdfast's it is.
    var text: String {
        var lines = [Self.line(["row", "holdfast"] + columns + ["instead of"])]
        for row in rows {
            var cells = [row.name, Self.amount(row.value, row.unit)]
            for column in columns {
                cells.append(row.peers.first { $0.name == column }.map { Self.cell($0, row) } ?? "")
            }
            for peer in row.peers where !columns.contains(peer.name) {
                cells.append(peer.name + " " + Self.cell(peer, row))
            }
            lines.append(Self.line(cells))
        }
        if !notes.isEmpty {
            lines.append("")
            lines += notes.map { "- " + $0 }
        }
        return lines.joined(separator: "\n")
    }

    private static func line(_ cells: [String]) -> String {
        cells.enumerated()
            .map { index, cell in
                let width = index == 0 ? 46 : index == 1 ? 12 : 22
                return cell + String(repeating: " ", count: max(1, width - cell.count))
            }
            .joined()
    }

    private static func cell(_ peer: Row.Peer, _ row: Row) -> String {
        guard let value = peer.value else { return "not measured" }
        let amount = amount(value, row.unit)
        guard let own = row.value else { return amount }
        guard own != 0 else { return value == 0 ? amount + " (1x)" : amount }
        return amount + " (" + decimal(value / own) + "x)"
    }

    private static func amount(_ value: Double?, _ unit: String) -> String {
        guard let value else { return "not measured" }
        switch unit {
        case "ns": return time(value)
        case "us": return time(value * 1e3)
        default: return decimal(value) + " " + unit
        }
    }

    private static func time(_ nanoseconds: Double) -> String {
        if nanoseconds >= 1e6 { return decimal(nanoseconds / 1e6) + " ms" }
        if nanoseconds >= 1e3 { return decimal(nanoseconds / 1e3) + " us" }
        return decimal(nanoseconds) + " ns"
    }

    private static func decimal(_ value: Double) -> String {
        let rounded = value.magnitude >= 100 ? value.rounded() : (value * 100).rounded() / 100
        return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
    }

    // MARK: For programs

    /// Replaces a file by the rows: an array of `{"row", "unit", "holdfast", "peers"}`.
    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let data = try encoder.encode(rows)
        try data.write(to: URL(filePath: path), options: .atomic)
    }
}

/// A row in the JSON file: a value that was not measured is null there, never missing.
extension Row: Encodable {
    private enum Key: CodingKey {
        case row
        case unit
        case holdfast
        case peers
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(name, forKey: .row)
        try container.encode(unit, forKey: .unit)
        // `encode` writes null, which `encodeIfPresent` would leave out.
        try container.encode(value, forKey: .holdfast)
        try container.encode(Dictionary(uniqueKeysWithValues: peers.map { ($0.name, $0.value) }), forKey: .peers)
    }
}
