import SystemPackage

/// One measurement and what it is held against.
struct Row {
    let name: String
    /// Nanoseconds.
    let value: Double
    let peer: (name: String, value: Double)?

    init(_ name: String, _ value: Double, peer: (name: String, value: Double)? = nil) {
        self.name = name
        self.value = value
        self.peer = peer
    }
}

/// Rows as people and as programs read them.
enum Table {
    static func text(_ rows: [Row]) -> String {
        var lines = [line("row", "time", "peer", "peer's time", "ratio")]
        for row in rows {
            let ratio = row.peer.map { decimal($0.value / row.value) + "x" } ?? ""
            lines.append(
                line(row.name, time(row.value), row.peer?.name ?? "", row.peer.map { time($0.value) } ?? "", ratio)
            )
        }
        return lines.joined(separator: "\n")
    }

    static func write(_ rows: [Row], to path: String) throws {
        let entries = rows.map { row in
            let peers = row.peer.map { "{\"\($0.name)\": \($0.value)}" } ?? "{}"
            return "  {\"row\": \"\(row.name)\", \"unit\": \"ns\", \"holdfast\": \(row.value), \"peers\": \(peers)}"
        }
        let file = try FileDescriptor.open(
            FilePath(path),
            .writeOnly,
            options: [.create, .truncate],
            permissions: .ownerReadWrite
        )
        try file.closeAfter {
            _ = try file.writeAll(("[\n" + entries.joined(separator: ",\n") + "\n]\n").utf8)
        }
    }

    private static func line(_ cells: String...) -> String {
        let widths = [52, 12, 36, 12, 8]
        return zip(cells, widths).map { $0 + String(repeating: " ", count: max(1, $1 - $0.count)) }.joined()
    }

    private static func time(_ nanoseconds: Double) -> String {
        if nanoseconds >= 1e6 { return decimal(nanoseconds / 1e6) + " ms" }
        if nanoseconds >= 1e3 { return decimal(nanoseconds / 1e3) + " us" }
        return decimal(nanoseconds) + " ns"
    }

    private static func decimal(_ value: Double) -> String {
        "\((value * 100).rounded() / 100)"
    }
}
