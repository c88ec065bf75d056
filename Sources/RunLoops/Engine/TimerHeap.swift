/// A heap of elements by deadline and, among equal deadlines, in the order in which they were scheduled.
///
/// Every element has a slot that stays the same until it is removed, so that removing and moving cost O(log n). An element
/// is *scheduled* (in the heap) or *parked* (counted, but without a deadline: a timer whose callout is running).
///
/// Not thread-safe: its owner has a lock, which is why the runtime's checks of exclusive access would find nothing.
final class TimerHeap<Element> {
    /// What the heap is ordered by.
    struct Key: Comparable {
        var deadline: Int64
        var sequence: UInt64

        static func < (left: Key, right: Key) -> Bool {
            left.deadline != right.deadline ? left.deadline < right.deadline : left.sequence < right.sequence
        }
    }

    /// The heap itself.
    @safe @exclusivity(unchecked) private var nodes = HeapStorage<HeapNode>()
    /// What the nodes stand for, and the free places between.
    @safe @exclusivity(unchecked) private var slots = HeapStorage<Slot>()
    @safe @exclusivity(unchecked) private var firstFree = -1
    @safe @exclusivity(unchecked) private var lastSequence: UInt64 = 0

    /// How many elements there are, parked ones included.
    @safe @exclusivity(unchecked) private(set) var count = 0

    deinit {
        nodes.free()
        slots.free()
    }

    private struct Slot {
        var element: Element?
        /// Where in `nodes` the element is, or `none`; of a free slot, the next free one.
        var position: Int
        /// The number of the call that scheduled it.
        var sequence: UInt64
    }

    private static var none: Int { -1 }

    /// Whether an element has no deadline.
    var hasParkedElements: Bool { nodes.count < count }

    /// The earliest deadline, if anything is scheduled.
    @inline(__always)
    var earliestDeadline: Int64? { nodes.count > 0 ? nodes[0].deadline : nil }

    /// Adds an element without a deadline and returns its slot.
    func insertParked(_ element: Element) -> Int {
        count += 1
        guard firstFree != Self.none else {
            slots.append(Slot(element: element, position: Self.none, sequence: 0))
            return slots.count - 1
        }
        let slot = firstFree
        firstFree = slots[slot].position
        slots[slot] = Slot(element: element, position: Self.none, sequence: 0)
        return slot
    }

    /// Gives an element a deadline, behind all others that have the same.
    func schedule(_ slot: Int, at deadline: Int64) {
        lastSequence += 1
        place(slot, with: Key(deadline: deadline, sequence: lastSequence))
    }

    /// Puts an element that was taken back where it was.
    func restore(_ slot: Int, to key: Key) {
        place(slot, with: key)
    }

    /// Says whether an element has a deadline.
    func isScheduled(_ slot: Int) -> Bool { slots[slot].position != Self.none }

    /// Takes an element out of the order; it keeps its slot.
    @inline(__always)
    func park(_ slot: Int) {
        let position = slots[slot].position
        guard position != Self.none else { return }
        slots[slot].position = Self.none
        let last = nodes.removeLast()
        guard position < nodes.count else { return }
        if !siftUp(last, from: position) {
            siftDown(last, from: position)
        }
    }

    /// Removes an element.
    func remove(_ slot: Int) {
        park(slot)
        slots[slot].element = nil
        slots[slot].position = firstFree
        firstFree = slot
        count -= 1
    }

    /// Parks the first element if its deadline is not after `limit`, and returns its slot and its place in the order.
    func parkFirst(notAfter limit: Int64) -> (slot: Int, key: Key)? {
        guard nodes.count > 0, nodes[0].deadline <= limit else { return nil }
        let first = nodes[0]
        let key = key(of: first)
        park(first.slot)
        return (first.slot, key)
    }

    /// Returns where in memory the element with a slot is, if it is an object; the slot must be in use.
    @inline(__always)
    func address(at slot: Int) -> UInt where Element: AnyObject {
        guard let element = slots[slot].element else { return 0 }
        return unsafe UInt(bitPattern: Unmanaged.passUnretained(element).toOpaque())
    }

    /// Calls `body` with every element, parked ones included.
    func visitAll(_ body: (Element) -> Void) {
        for slot in 0..<slots.count {
            if let element = slots[slot].element {
                body(element)
            }
        }
    }

    /// Calls `body` with every scheduled element whose deadline is not after the limit, in no order.
    ///
    /// `body` returns the limit from there on, which may be lower.
    func visit(notAfter limit: Int64, _ body: (Element, Key) -> Int64) {
        var limit = limit
        visit(0, &limit, body)
    }

    private func visit(_ position: Int, _ limit: inout Int64, _ body: (Element, Key) -> Int64) {
        guard position < nodes.count, nodes[position].deadline <= limit else { return }
        if let element = slots[nodes[position].slot].element {
            limit = min(limit, body(element, key(of: nodes[position])))
        }
        for child in HeapNode.children(of: position) {
            visit(child, &limit, body)
        }
    }

    private func key(of node: HeapNode) -> Key {
        Key(deadline: node.deadline, sequence: slots[node.slot].sequence)
    }

    // MARK: The heap

    private func place(_ slot: Int, with key: Key) {
        park(slot)
        slots[slot].sequence = key.sequence
        let node = HeapNode(deadline: key.deadline, slot: slot)
        nodes.append(node)
        let end = nodes.count - 1
        if !siftUp(node, from: end) {
            set(node, at: end)
        }
    }

    @inline(__always)
    private func isBefore(_ left: HeapNode, _ right: HeapNode) -> Bool {
        if left.deadline != right.deadline { return left.deadline < right.deadline }
        return slots[left.slot].sequence < slots[right.slot].sequence
    }

    @inline(__always)
    private func set(_ node: HeapNode, at position: Int) {
        nodes[position] = node
        slots[node.slot].position = position
    }

    /// Puts a node above `start` if it belongs there, and says whether it does.
    @inline(__always)
    private func siftUp(_ node: HeapNode, from start: Int) -> Bool {
        var position = start
        while position > 0 {
            let parent = HeapNode.parent(of: position)
            guard isBefore(node, nodes[parent]) else { break }
            set(nodes[parent], at: position)
            position = parent
        }
        guard position < start else { return false }
        set(node, at: position)
        return true
    }

    /// Puts a node at `start` or below.
    private func siftDown(_ node: HeapNode, from start: Int) {
        var position = start
        let count = nodes.count
        while true {
            let children = HeapNode.children(of: position)
            guard children.lowerBound < count else { break }
            var smallest = nodes[children.lowerBound]
            var place = children.lowerBound
            var child = children.lowerBound + 1
            let end = min(children.upperBound, count)
            while child < end {
                let other = nodes[child]
                if isBefore(other, smallest) {
                    smallest = other
                    place = child
                }
                child += 1
            }
            guard isBefore(smallest, node) else { break }
            set(smallest, at: position)
            position = place
        }
        set(node, at: position)
    }

    // MARK: Checking

    /// Returns the element with a slot, if there is one.
    func element(at slot: Int) -> Element? { slot >= 0 && slot < slots.count ? slots[slot].element : nil }

    /// Returns what is wrong with the structure; O(number of elements).
    func defects() -> [String] {
        var defects: [String] = []
        for position in 0..<nodes.count {
            let node = nodes[position]
            guard element(at: node.slot) != nil else {
                defects.append("the node at \(position) has no element")
                continue
            }
            if position > 0, key(of: node) < key(of: nodes[HeapNode.parent(of: position)]) {
                defects.append("the node at \(position) comes before its parent")
            }
            if slots[node.slot].position != position {
                defects.append("the node at \(position) is not where its slot says")
            }
        }
        let used = (0..<slots.count).filter { slots[$0].element != nil }
        if used.count != count {
            defects.append("there are \(used.count) elements and not \(count)")
        }
        if used.count(where: { slots[$0].position != Self.none }) != nodes.count {
            defects.append("a slot names a node that is not there")
        }
        return defects
    }
}
