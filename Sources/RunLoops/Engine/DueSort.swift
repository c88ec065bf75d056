/// Puts nodes of a `TimerHeap` into the order in which they fire, for many that are due at once.
///
/// Taking a node out of a heap costs as much as it has levels, and a processor cannot predict the way. Of a thousand timers that are due
/// together, this was a third of what firing one takes. The radix sort here looks at each node three or four times, whatever the order.
///
/// Not thread-safe: it belongs to its heap.
struct DueSort {
    /// The most nodes.
    ///
    /// They are sorted with the loop's lock held, which others may want: a thousand take 15 µs.
    static var most: Int { 1024 }

    /// The nodes, and room to sort them.
    private var nodes = HeapStorage<HeapNode>()
    private var spare = HeapStorage<HeapNode>()

    /// How many there are.
    var count: Int { nodes.count }

    /// Frees the memory; call it once.
    func free() {
        nodes.free()
        spare.free()
    }

    /// Forgets the nodes.
    mutating func removeAll() { nodes.shrink(to: 0) }

    @inline(__always)
    subscript(place: Int) -> HeapNode {
        get { nodes[place] }
        nonmutating set { nodes[place] = newValue }
    }

    @inline(__always)
    mutating func append(_ node: HeapNode) { nodes.append(node) }

    /// Sorts the nodes by deadline, and those with equal ones by their sequence numbers.
    ///
    /// - Parameter sequence: Returns the sequence number of the node with a slot.
    mutating func sort(sequence: (_ slot: Int) -> UInt64) {
        guard count > 1 else { return }
        sortByDeadline()
        var start = 0
        for place in 1...count where place == count || nodes[place].deadline != nodes[start].deadline {
            if place - start > 1 { sortEqual(start..<place, sequence) }
            start = place
        }
    }

    /// Sorts by one byte of the deadline after the other, the lowest first.
    private mutating func sortByDeadline() {
        var (least, greatest) = (nodes[0].deadline, nodes[0].deadline)
        for place in 1..<count {
            least = min(least, nodes[place].deadline)
            greatest = max(greatest, nodes[place].deadline)
        }
        // As bits, a difference is right even if it is greater than the greatest `Int64`.
        let span = UInt64(bitPattern: greatest &- least)
        while spare.count < count { spare.append(nodes[spare.count]) }
        spare.shrink(to: count)
        var shift: UInt64 = 0
        while shift < 64, span >> shift != 0 {
            unsafe withUnsafeTemporaryAllocation(of: UInt16.self, capacity: 256) { counts in
                unsafe counts.initialize(repeating: 0)
                for place in 0..<count { unsafe counts[digit(nodes[place], least, shift)] += 1 }
                var sum: UInt16 = 0
                for value in 0..<256 {
                    let size = unsafe counts[value]
                    unsafe counts[value] = sum
                    sum += size
                }
                for place in 0..<count {
                    let value = digit(nodes[place], least, shift)
                    spare[Int(unsafe counts[value])] = nodes[place]
                    unsafe counts[value] += 1
                }
            }
            swap(&nodes, &spare)
            shift += 8
        }
    }

    @inline(__always)
    private func digit(_ node: HeapNode, _ least: Int64, _ shift: UInt64) -> Int {
        Int(truncatingIfNeeded: (UInt64(bitPattern: node.deadline &- least) &>> shift) & 0xff)
    }

    /// Sorts nodes with one deadline by their sequence numbers.
    private func sortEqual(_ places: Range<Int>, _ sequence: (Int) -> UInt64) {
        let sorted = places.map { (number: sequence(nodes[$0].slot), node: nodes[$0]) }.sorted { $0.number < $1.number }
        for (place, entry) in zip(places, sorted) { nodes[place] = entry.node }
    }
}
