/// A heap of elements by deadline and, among equal deadlines, in the order in which they were scheduled.
///
/// Every element has a slot that stays the same until it is removed, so that removing and moving cost O(log n). An element
/// is *scheduled* (in the heap) or *parked* (counted, but without a deadline: a timer whose callout is running).
struct TimerHeap<Element> {
    /// What the heap is ordered by.
    struct Key: Comparable {
        var deadline: Int64
        var sequence: UInt64

        static func < (left: Key, right: Key) -> Bool {
            left.deadline != right.deadline ? left.deadline < right.deadline : left.sequence < right.sequence
        }
    }

    private struct Node {
        var key: Key
        var slot: Int
    }

    private struct Slot {
        var element: Element?
        /// Where in `nodes` the element is, or -1.
        var position: Int
    }

    // Four children per node: half the levels of a binary heap, and the children share a cache line or two.
    private static var arity: Int { 4 }

    private var nodes: [Node] = []
    private var slots: [Slot] = []
    private var free: [Int] = []
    private var lastSequence: UInt64 = 0

    /// How many elements there are, parked ones included.
    var count: Int { slots.count - free.count }

    /// Whether an element has no deadline.
    var hasParkedElements: Bool { nodes.count < count }

    /// The earliest deadline, if anything is scheduled.
    var earliestDeadline: Int64? { nodes.first?.key.deadline }

    /// Adds an element without a deadline and returns its slot.
    mutating func insertParked(_ element: Element) -> Int {
        if let slot = free.popLast() {
            slots[slot] = Slot(element: element, position: -1)
            return slot
        }
        slots.append(Slot(element: element, position: -1))
        return slots.count - 1
    }

    /// Gives an element a deadline, behind all others that have the same.
    mutating func schedule(_ slot: Int, at deadline: Int64) {
        park(slot)
        lastSequence += 1
        nodes.append(Node(key: Key(deadline: deadline, sequence: lastSequence), slot: slot))
        slots[slot].position = nodes.count - 1
        siftUp(from: nodes.count - 1)
    }

    /// Takes an element out of the order; it keeps its slot.
    mutating func park(_ slot: Int) {
        let position = slots[slot].position
        guard position >= 0 else { return }
        slots[slot].position = -1
        let last = nodes.removeLast()
        guard position < nodes.count else { return }
        place(last, at: position)
        siftUp(from: position)
        siftDown(from: slots[last.slot].position)
    }

    /// Removes an element and returns it.
    mutating func remove(_ slot: Int) -> Element? {
        park(slot)
        guard let element = slots[slot].element else { return nil }
        slots[slot].element = nil
        free.append(slot)
        return element
    }

    /// Calls `body` with every scheduled element whose deadline is not after `limit`, in no order; O(number of them).
    func visitAllDue(at limit: Int64, _ body: (Element, Key) -> Void) {
        visitDue(0, limit, body)
    }

    /// Calls `body` with every element, parked ones included.
    func visitAll(_ body: (Element) -> Void) {
        for slot in slots {
            if let element = slot.element {
                body(element)
            }
        }
    }

    private func visitDue(_ position: Int, _ limit: Int64, _ body: (Element, Key) -> Void) {
        guard position < nodes.count, nodes[position].key.deadline <= limit else { return }
        if let element = slots[nodes[position].slot].element {
            body(element, nodes[position].key)
        }
        let firstChild = position * Self.arity + 1
        for child in firstChild..<(firstChild + Self.arity) {
            visitDue(child, limit, body)
        }
    }

    private mutating func place(_ node: Node, at position: Int) {
        nodes[position] = node
        slots[node.slot].position = position
    }

    private mutating func siftUp(from start: Int) {
        let node = nodes[start]
        var position = start
        while position > 0 {
            let parent = (position - 1) / Self.arity
            guard node.key < nodes[parent].key else { break }
            place(nodes[parent], at: position)
            position = parent
        }
        place(node, at: position)
    }

    private mutating func siftDown(from start: Int) {
        let node = nodes[start]
        var position = start
        while true {
            let firstChild = position * Self.arity + 1
            guard firstChild < nodes.count else { break }
            var smallest = firstChild
            for child in (firstChild + 1)..<max(firstChild + 1, min(firstChild + Self.arity, nodes.count))
            where nodes[child].key < nodes[smallest].key {
                smallest = child
            }
            guard nodes[smallest].key < node.key else { break }
            place(nodes[smallest], at: position)
            position = smallest
        }
        place(node, at: position)
    }
}
