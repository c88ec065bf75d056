/// Puts nodes of a `TimerHeap` into the order in which they fire, for many that are due at once.
///
/// Taking a node out of a heap costs as much as it has levels, and a processor cannot predict the way. Of a thousand timers that are due
/// together, this was a third of what firing one takes. The radix sort here looks at each node twice for each byte in which the dates differ,
/// whatever their order.
///
/// Not thread-safe: it belongs to its heap.
struct DueSort {
    /// The most nodes.
    ///
    /// They are sorted with the loop's lock held, which others may want: a thousand take 6 to 35 µs.
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
        if putEqualInOrder(sequence) { return }
        // A radix sort leaves what is equal in its order.
        sortByBytes { sequence($0.slot) }
        sortByDeadline()
    }

    private mutating func sortByDeadline() {
        // As bits, in the order of the numbers.
        sortByBytes { UInt64(bitPattern: $0.deadline) ^ 1 << 63 }
    }

    /// Puts the nodes with equal deadlines, which are together, into the order of their sequence numbers; returns false if there are many of
    /// one.
    private func putEqualInOrder(_ sequence: (Int) -> UInt64) -> Bool {
        var start = 0
        for place in 1..<count {
            let node = nodes[place]
            guard node.deadline == nodes[start].deadline else {
                start = place
                continue
            }
            guard place - start < Self.mostInserted else { return false }
            let number = sequence(node.slot)
            var hole = place
            while hole > start, sequence(nodes[hole - 1].slot) > number {
                nodes[hole] = nodes[hole - 1]
                hole -= 1
            }
            nodes[hole] = node
        }
        return true
    }

    private static var mostInserted: Int { 16 }

    /// Sorts by one byte of a key after the other, the lowest first.
    @inline(__always)
    private mutating func sortByBytes(of key: (HeapNode) -> UInt64) {
        var (least, greatest) = (UInt64.max, UInt64.min)
        for place in 0..<count {
            let value = key(nodes[place])
            (least, greatest) = (min(least, value), max(greatest, value))
        }
        let span = greatest - least
        if span > 0, spare.count != count {
            while spare.count < count { spare.append(nodes[spare.count]) }
            spare.shrink(to: count)
        }
        var shift: UInt64 = 0
        while shift < 64, span >> shift != 0 {
            unsafe withUnsafeTemporaryAllocation(of: UInt16.self, capacity: 256) { counts in
                unsafe counts.initialize(repeating: 0)
                for place in 0..<count {
                    unsafe counts[Int(truncatingIfNeeded: ((key(nodes[place]) - least) &>> shift) & 0xff)] += 1
                }
                var sum: UInt16 = 0
                for value in 0..<256 {
                    let size = unsafe counts[value]
                    unsafe counts[value] = sum
                    sum += size
                }
                for place in 0..<count {
                    let value = Int(truncatingIfNeeded: ((key(nodes[place]) - least) &>> shift) & 0xff)
                    spare[Int(unsafe counts[value])] = nodes[place]
                    unsafe counts[value] += 1
                }
            }
            swap(&nodes, &spare)
            shift += 8
        }
    }
}
