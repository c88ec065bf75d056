/// Half-open address ranges with a value each, which may overlap, and what contains an address.
struct AddressTable<Value> {
    struct Entry {
        var start: UInt64
        var end: UInt64
        var value: Value
    }

    /// By start, the longer first: the last one that contains an address is the innermost.
    private let entries: [Entry]

    /// The largest end of this entry and all before it, so that a search knows when to stop.
    private let reach: [UInt64]

    /// Creates the table; empty ranges are left out.
    ///
    /// - Parameter entries: The ranges, in any order.
    init(_ entries: [Entry]) {
        let sorted = entries.filter { $0.start < $0.end }
            .sorted { $0.start == $1.start ? $0.end > $1.end : $0.start < $1.start }
        var reach: [UInt64] = []
        reach.reserveCapacity(sorted.count)
        for entry in sorted {
            reach.append(max(entry.end, reach.last ?? 0))
        }
        self.entries = sorted
        self.reach = reach
    }

    /// All entries, by start.
    var all: some Sequence<Entry> { entries }

    /// All values, by start.
    var values: some Sequence<Value> { entries.lazy.map(\.value) }

    /// The entries that contain an address, innermost first.
    ///
    /// - Parameter address: The address to look up.
    /// - Returns: At most 64 entries: no real file nests more.
    func entries(containing address: UInt64) -> [Entry] {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = low + (high - low) / 2
            if entries[middle].start <= address {
                low = middle + 1
            } else {
                high = middle
            }
        }
        var found: [Entry] = []
        while low > 0, found.count < 64 {
            low -= 1
            guard address < reach[low] else { break }
            if address < entries[low].end {
                found.append(entries[low])
            }
        }
        return found
    }
}
