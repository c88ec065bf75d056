internal import CElfutils

/// The line table of one unit: rows by address, each of which goes on to the next.
///
/// Valid as long as the debug information that it comes from is open.
@safe
struct LineTable {
    private let lines: OpaquePointer?
    private let count: Int

    /// Wraps the library's table.
    init(lines: OpaquePointer?, count: Int) {
        unsafe self.lines = lines
        self.count = count
    }

    /// The last row at an address or before it, unless it only marks an end.
    func row(at address: UInt64) -> Int? {
        var low = 0
        var high = count
        while low < high {
            let middle = low + (high - low) / 2
            if self.address(row: middle) <= address {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low > 0 && !endsSequence(row: low - 1) ? low - 1 : nil
    }

    /// The address that a row begins at, as linked.
    func address(row: Int) -> UInt64 {
        var address: Dwarf_Addr = 0
        guard let line = unsafe line(row), unsafe libdw.pointee.dwarf_lineaddr(line, &address) == 0 else { return 0 }
        return address
    }

    /// Whether a row is only the end of the rows before it.
    func endsSequence(row: Int) -> Bool {
        var ends = false
        guard let line = unsafe line(row), unsafe libdw.pointee.dwarf_lineendsequence(line, &ends) == 0 else {
            return true
        }
        return ends
    }

    /// What a row says.
    func location(row: Int) -> SourceLocation {
        guard let row = unsafe line(row) else { return .unknown }
        var (line, column) = (CInt(0), CInt(0))
        _ = unsafe libdw.pointee.dwarf_lineno(row, &line)
        _ = unsafe libdw.pointee.dwarf_linecol(row, &column)
        let file = unsafe libdw.pointee.dwarf_linesrc(row, nil, nil).map { unsafe String(cString: $0) }
        return SourceLocation(file: file, line: Int(line), column: Int(column))
    }

    private func line(_ row: Int) -> OpaquePointer? {
        guard let lines = unsafe lines else { return nil }
        return unsafe libdw.pointee.dwarf_onesrcline(lines, row)
    }
}
