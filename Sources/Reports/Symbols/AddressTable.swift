internal import CElfutils

/// Half-open address ranges with a value each, which may overlap, and what contains an address.
struct AddressTable<Value> {
    struct Entry {
        var start: UInt64
        var end: UInt64
        var value: Value
    }

    /// By start, the longer first: the last one that contains an address is the innermost.
    private let ranges: [HFAddressRange]

    /// In the order in which they came.
    private let entries: [Entry]

    /// Creates the table; empty ranges are left out.
    ///
    /// - Parameter entries: The ranges, in any order.
    init(_ entries: [Entry]) {
        var ranges: [HFAddressRange] = []
        ranges.reserveCapacity(entries.count)
        for place in entries.indices where entries[place].start < entries[place].end {
            ranges.append(HFAddressRange(start: entries[place].start, end: entries[place].end, reach: 0, place: place))
        }
        unsafe ranges.withUnsafeMutableBufferPointer { unsafe hf_address_ranges_sort($0.baseAddress, $0.count) }
        self.ranges = ranges
        self.entries = entries
    }

    /// All entries, by start.
    var all: some Sequence<Entry> { ranges.lazy.map { entries[$0.place] } }

    /// All values, by start.
    var values: some Sequence<Value> { ranges.lazy.map { entries[$0.place].value } }

    /// The entries that contain an address, innermost first.
    ///
    /// - Parameter address: The address to look up.
    /// - Returns: At most 64 entries: no real file nests more.
    func entries(containing address: UInt64) -> [Entry] {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = low + (high - low) / 2
            if ranges[middle].start <= address {
                low = middle + 1
            } else {
                high = middle
            }
        }
        var found: [Entry] = []
        while low > 0, found.count < 64 {
            low -= 1
            guard address < ranges[low].reach else { break }
            if address < ranges[low].end {
                found.append(entries[ranges[low].place])
            }
        }
        return found
    }
}
