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

    /// The last answer to when a wait for them should end, while no change makes it another.
    @safe @exclusivity(unchecked) private var shared: SharedWait?
    /// Where the search for that answer goes on; kept for its memory.
    @safe @exclusivity(unchecked) private var frontier = HeapStorage<HeapNode>()
    /// How many elements that search has looked at, in the life of the heap.
    @safe @exclusivity(unchecked) private(set) var looks = 0

    /// How many elements, at most, the search looks at.
    static var looksPerSearch: Int { 64 }

    /// How many elements there are, parked ones included.
    @safe @exclusivity(unchecked) private(set) var count = 0

    deinit {
        nodes.free()
        slots.free()
        frontier.free()
    }

    private struct Slot {
        var element: Element?
        /// Where in `nodes` the element is, or `none`; of a free slot, the next free one.
        var position: Int
        /// The number of the call that scheduled it.
        var sequence: UInt64
        /// How late it may come, its deadline included.
        var latest: Int64
    }

    /// When a wait should end so that elements share it.
    private struct SharedWait {
        /// The deadline at which it ends.
        let end: Int64
        /// Up to here elements were looked at: none that comes later counts.
        let horizon: Int64
        /// The earliest time at which one of them is too late; never before `end`.
        let latest: Int64
        /// Whether there may be more that could share it.
        let isCut: Bool
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
            slots.append(Slot(element: element, position: Self.none, sequence: 0, latest: 0))
            return slots.count - 1
        }
        let slot = firstFree
        firstFree = slots[slot].position
        slots[slot] = Slot(element: element, position: Self.none, sequence: 0, latest: 0)
        return slot
    }

    /// Gives an element a deadline, behind all others that have the same.
    ///
    /// - Parameters:
    ///   - slot: The element's slot.
    ///   - deadline: The deadline.
    ///   - latest: How late it may come so that it can share a wait with others; `nil` for the deadline itself.
    func schedule(_ slot: Int, at deadline: Int64, latest: Int64? = nil) {
        lastSequence += 1
        // Before the new time is there: the old one is what the shared wait may depend on.
        park(slot)
        slots[slot].latest = max(deadline, latest ?? deadline)
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
        if shared != nil { noteDeparture(of: nodes[position]) }
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
        if shared != nil { noteArrival(of: node) }
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

    // MARK: Sharing a wait

    /// When a wait should end so that elements share it: at the last deadline that makes none of them too late; `nil` without
    /// elements.
    ///
    /// Among many that could share it, at the deadline of the 64th, so that the search costs the same for a million; it is
    /// repeated only when a change concerns what it has looked at.
    var sharedDeadline: Int64? {
        if let shared { return shared.end }
        guard nodes.count > 0 else { return nil }
        let found = searchSharedWait()
        shared = found
        return found.end
    }

    /// Looks at the elements in the order of their deadlines.
    private func searchSharedWait() -> SharedWait {
        while frontier.count > 0 { _ = frontier.removeLast() }
        // Places in `nodes`, with their deadlines: the least is taken out, and its children are put in.
        pushToFrontier(0)
        var latest = Int64.max
        var end = nodes[0].deadline
        for _ in 0..<Self.looksPerSearch {
            guard frontier.count > 0, frontier[0].deadline <= latest else {
                return SharedWait(end: end, horizon: latest, latest: latest, isCut: false)
            }
            let next = popFromFrontier()
            looks += 1
            end = next.deadline
            latest = min(latest, slots[nodes[next.slot].slot].latest)
            for child in HeapNode.children(of: next.slot) where child < nodes.count {
                pushToFrontier(child)
            }
        }
        return SharedWait(end: end, horizon: end, latest: latest, isCut: true)
    }

    private func pushToFrontier(_ position: Int) {
        let node = HeapNode(deadline: nodes[position].deadline, slot: position)
        frontier.append(node)
        var place = frontier.count - 1
        while place > 0 {
            let parent = HeapNode.parent(of: place)
            guard node.deadline < frontier[parent].deadline else { break }
            frontier[place] = frontier[parent]
            place = parent
        }
        frontier[place] = node
    }

    private func popFromFrontier() -> HeapNode {
        let first = frontier[0]
        let last = frontier.removeLast()
        let count = frontier.count
        guard count > 0 else { return first }
        var place = 0
        while true {
            var smallest = place
            var least = last.deadline
            for child in HeapNode.children(of: place) where child < count && frontier[child].deadline < least {
                smallest = child
                least = frontier[child].deadline
            }
            guard smallest != place else { break }
            frontier[place] = frontier[smallest]
            place = smallest
        }
        frontier[place] = last
        return first
    }

    /// Forgets the answer if an element that comes could make it another.
    private func noteArrival(of node: HeapNode) {
        guard let known = shared else { return }
        if node.deadline > known.horizon { return }
        if node.deadline <= known.end, slots[node.slot].latest >= known.latest { return }
        shared = nil
    }

    /// Forgets the answer if it depends on an element that goes.
    private func noteDeparture(of node: HeapNode) {
        guard let known = shared else { return }
        if node.deadline > known.horizon { return }
        // Where the search was cut, its end is right whatever else goes.
        if node.deadline != known.end, slots[node.slot].latest > known.latest || known.isCut { return }
        shared = nil
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
