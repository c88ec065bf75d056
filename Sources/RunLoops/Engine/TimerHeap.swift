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

    /// Sixteen bytes, so that four children fill one cache line; the sequence number is only looked up in a tie.
    struct Node {
        var deadline: Int64
        var slot: Int
    }

    struct Slot {
        /// Where in `nodes` the element is, or -1.
        var position: Int
        /// The number of the call that scheduled it.
        var sequence: UInt64
    }

    // Four children per node: half the levels of a binary heap, and the children share a cache line or two.
    static var arity: Int { 4 }

    private(set) var nodes: ContiguousArray<Node> = []
    private(set) var slots: ContiguousArray<Slot> = []
    private var elements: ContiguousArray<Element?> = []
    private var free: ContiguousArray<Int> = []
    private var lastSequence: UInt64 = 0

    /// How many elements there are, parked ones included.
    var count: Int { slots.count - free.count }

    /// Whether an element has no deadline.
    var hasParkedElements: Bool { nodes.count < count }

    /// The earliest deadline, if anything is scheduled.
    var earliestDeadline: Int64? { nodes.first?.deadline }

    /// Adds an element without a deadline and returns its slot.
    mutating func insertParked(_ element: Element) -> Int {
        if let slot = free.popLast() {
            elements[slot] = element
            return slot
        }
        slots.append(Slot(position: -1, sequence: 0))
        elements.append(element)
        return slots.count - 1
    }

    /// Gives an element a deadline, behind all others that have the same.
    mutating func schedule(_ slot: Int, at deadline: Int64) {
        lastSequence += 1
        place(slot, with: Key(deadline: deadline, sequence: lastSequence))
    }

    /// Puts an element that was taken back where it was.
    mutating func restore(_ slot: Int, to key: Key) {
        place(slot, with: key)
    }

    /// Says whether an element has a deadline.
    func isScheduled(_ slot: Int) -> Bool { slots[slot].position >= 0 }

    /// Takes an element out of the order; it keeps its slot.
    mutating func park(_ slot: Int) {
        let position = slots[slot].position
        guard position >= 0 else { return }
        slots[slot].position = -1
        let last = nodes.removeLast()
        guard position < nodes.count else { return }
        withBuffers { buffers in
            if !buffers.siftUp(last, from: position) {
                buffers.siftDown(last, from: position)
            }
        }
    }

    /// Removes an element.
    mutating func remove(_ slot: Int) {
        park(slot)
        elements[slot] = nil
        free.append(slot)
    }

    /// Parks the first element if its deadline is not after `limit`, and returns it with its place in the order.
    mutating func parkFirst(notAfter limit: Int64) -> (element: Element, slot: Int, key: Key)? {
        guard let first = nodes.first, first.deadline <= limit, let element = elements[first.slot] else { return nil }
        let key = Key(deadline: first.deadline, sequence: slots[first.slot].sequence)
        park(first.slot)
        return (element, first.slot, key)
    }

    /// Calls `body` with every element, parked ones included.
    func visitAll(_ body: (Element) -> Void) {
        for case let element? in elements {
            body(element)
        }
    }

    // MARK: Checking

    /// Returns the element with a slot, if there is one.
    func element(at slot: Int) -> Element? { elements.indices.contains(slot) ? elements[slot] : nil }

    /// Returns what is wrong with the structure; O(number of elements).
    func defects() -> [String] {
        var defects: [String] = []
        for (position, node) in nodes.enumerated() {
            if position > 0, key(of: node) < key(of: nodes[(position - 1) / Self.arity]) {
                defects.append("the node at \(position) comes before its parent")
            }
            if !slots.indices.contains(node.slot) || slots[node.slot].position != position {
                defects.append("the node at \(position) is not where its slot says")
            }
            if element(at: node.slot) == nil {
                defects.append("the node at \(position) has no element")
            }
        }
        if slots.count(where: { $0.position >= 0 }) != nodes.count {
            defects.append("a slot names a node that is not there")
        }
        if elements.count(where: { $0 == nil }) != free.count {
            defects.append("a slot is neither used nor free")
        }
        return defects
    }

    private func key(of node: Node) -> Key {
        Key(deadline: node.deadline, sequence: slots.indices.contains(node.slot) ? slots[node.slot].sequence : 0)
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
        if let element = elements[nodes[position].slot] {
            limit = min(limit, body(element, key(of: nodes[position])))
        }
        let firstChild = position * Self.arity + 1
        for child in firstChild..<(firstChild + Self.arity) {
            visit(child, &limit, body)
        }
    }

    private mutating func place(_ slot: Int, with key: Key) {
        park(slot)
        slots[slot].sequence = key.sequence
        let node = Node(deadline: key.deadline, slot: slot)
        nodes.append(node)
        let end = nodes.count - 1
        withBuffers { buffers in
            if !buffers.siftUp(node, from: end) {
                buffers.set(node, at: end)
            }
        }
    }

    @inline(__always)
    private mutating func withBuffers(_ body: (HeapBuffers) -> Void) {
        unsafe nodes.withUnsafeMutableBufferPointer { nodes in
            unsafe slots.withUnsafeMutableBufferPointer { slots in
                body(unsafe HeapBuffers(nodes: nodes, slots: slots))
            }
        }
    }

    /// The storage of the heap for the length of one operation, without a check of every access.
    @safe
    private struct HeapBuffers {
        let nodes: UnsafeMutableBufferPointer<Node>
        let slots: UnsafeMutableBufferPointer<Slot>

        @inline(__always)
        func isBefore(_ left: Node, _ right: Node) -> Bool {
            if left.deadline != right.deadline { return left.deadline < right.deadline }
            return unsafe slots[left.slot].sequence < slots[right.slot].sequence
        }

        @inline(__always)
        func set(_ node: Node, at position: Int) {
            unsafe nodes[position] = node
            unsafe slots[node.slot].position = position
        }

        /// Puts a node above `start` if it belongs there, and says whether it does.
        func siftUp(_ node: Node, from start: Int) -> Bool {
            var position = start
            while position > 0 {
                let parent = (position - 1) / TimerHeap.arity
                guard unsafe isBefore(node, nodes[parent]) else { break }
                unsafe set(nodes[parent], at: position)
                position = parent
            }
            guard position < start else { return false }
            set(node, at: position)
            return true
        }

        /// Puts a node at `start` or below.
        func siftDown(_ node: Node, from start: Int) {
            var position = start
            let count = unsafe nodes.count
            while true {
                let firstChild = position * TimerHeap.arity + 1
                guard firstChild < count else { break }
                var smallest = unsafe nodes[firstChild]
                var place = firstChild
                var child = firstChild + 1
                let end = min(firstChild + TimerHeap.arity, count)
                while child < end {
                    let other = unsafe nodes[child]
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
    }
}
