internal import CrashReports

/// Lines of cells under titles, made to fit the width of a terminal.
struct AlignedTable {
    /// A column.
    struct Column {
        /// What stands above it.
        var title: String
        /// How narrow it can get where there is no room; nil for as wide as its widest cell, always.
        var narrowest: Int?
        /// Whether its cells end at the same column, as numbers do.
        var isNumeric = false
        /// The place in the order in which columns are left out where there is no room for all; nil for one that stays.
        var dispensability: Int?
    }

    /// What stands in a line under a title.
    struct Cell {
        var text: String
        var style = StyledText.Style.plain
    }

    /// Two spaces between columns.
    static let gap = 2

    private(set) var columns: [Column]
    private(set) var rows: [[Cell]]
    private let layout: TextLayout

    /// Makes a table; each row has as many cells as there are columns.
    init(_ columns: [Column], _ rows: [[Cell]], _ layout: TextLayout) {
        self.columns = columns
        self.layout = layout
        // What is measured is what is shown.
        self.rows = rows.map { row in row.map { Cell(text: layout.visible($0.text), style: $0.style) } }
    }

    /// Shortens times and fingerprints where not all fits, and leaves out columns, until the others fit at their narrowest.
    mutating func fit(times: [Int], fingerprints: [Int] = []) {
        guard let room = layout.width else { return }
        if total(naturalWidths) > room {
            for row in rows.indices {
                // From `2026-11-21 06:40:12` to `11-21 06:40`.
                for column in times { rows[row][column].text = String(rows[row][column].text.dropFirst(5).dropLast(3)) }
                // Commands take the start of a fingerprint.
                for column in fingerprints { rows[row][column].text = String(rows[row][column].text.prefix(11)) }
            }
        }
        while total(naturalWidths.enumerated().map { min($1, columns[$0].narrowest ?? .max) }) > room {
            let candidates = columns.indices.filter { columns[$0].dispensability != nil }
            guard let column = candidates.min(by: { columns[$0].dispensability ?? 0 < columns[$1].dispensability ?? 0 })
            else { return }
            columns.remove(at: column)
            for row in rows.indices { rows[row].remove(at: column) }
        }
    }

    /// Writes the lines.
    func write(to output: inout StyledText, titleStyle: StyledText.Style = .bold) {
        let widths = fittingWidths
        writeLine(columns.map { Cell(text: $0.title, style: titleStyle) }, widths, to: &output)
        for row in rows { writeLine(row, widths, to: &output) }
    }

    private func writeLine(_ cells: [Cell], _ widths: [Int], to output: inout StyledText) {
        var room = layout.width ?? .max
        func add(_ text: String, _ style: StyledText.Style) {
            let text = text.cut(room, layout.ellipsis)
            output.add(text, style)
            room -= DisplayWidth.of(text)
        }
        for (index, cell) in cells.enumerated() {
            let text = cell.text.cut(widths[index], layout.ellipsis)
            let filling = String(repeating: " ", count: widths[index] - DisplayWidth.of(text))
            if columns[index].isNumeric { add(filling, .plain) }
            add(text, cell.style)
            guard index < cells.count - 1, room > 0 else { break }
            add((columns[index].isNumeric ? "" : filling) + "  ", .plain)
        }
        output.end()
    }

    private var naturalWidths: [Int] {
        columns.indices.map { column in
            rows.reduce(DisplayWidth.of(columns[column].title)) { max($0, DisplayWidth.of($1[column].text)) }
        }
    }

    /// The widest of the columns that can be narrower give way, until all fits or none can.
    private var fittingWidths: [Int] {
        var widths = naturalWidths
        guard let room = layout.width else { return widths }
        while total(widths) > room {
            let elastic = widths.indices.filter { widths[$0] > columns[$0].narrowest ?? .max }
            guard let widest = elastic.map({ widths[$0] }).max() else { break }
            // Down to the next narrower one, but no further than needed: all at once, for a width may be anything.
            let equals = elastic.filter { widths[$0] == widest }
            let next = elastic.map { widths[$0] }.filter { $0 < widest }.max() ?? 0
            let floor = max(next, equals.compactMap { columns[$0].narrowest }.max() ?? 0)
            let excess = total(widths) - room
            let step = min(widest - floor, max(1, excess / equals.count))
            if step == 0 { break }
            var rest = excess
            for column in equals where rest > 0 {
                let cut = min(step, rest)
                widths[column] -= cut
                rest -= cut
            }
        }
        return widths
    }

    private func total(_ widths: [Int]) -> Int { widths.reduce(Self.gap * (widths.count - 1), +) }
}
