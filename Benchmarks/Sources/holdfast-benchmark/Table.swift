import FoundationEssentials

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

    mutating func add(_ row: Row) {
        rows.append(row)
    }

    /// Adds a sentence, once.
    mutating func add(note: String) {
        if !notes.contains(note) {
            notes.append(note)
        }
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
        let data = try encoder.encode(rows.map(JSONRow.init))
        try data.write(to: URL(filePath: path), options: .atomic)
    }
}

/// A row in the JSON file: a value that was not measured is null there, never missing.
private struct JSONRow: Encodable {
    let row: String
    let unit: String
    let holdfast: Double?
    let peers: [String: Double?]

    private enum Key: CodingKey {
        case row
        case unit
        case holdfast
        case peers
    }

    init(_ row: Row) {
        self.row = row.name
        unit = row.unit
        holdfast = row.value
        peers = Dictionary(uniqueKeysWithValues: row.peers.map { ($0.name, $0.value) })
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(row, forKey: .row)
        try container.encode(unit, forKey: .unit)
        // `encode` writes null, which `encodeIfPresent` would leave out.
        try container.encode(holdfast, forKey: .holdfast)
        try container.encode(peers, forKey: .peers)
    }
}
