/// A heap of elements ordered by deadline and, among equal deadlines, by the order in which they were scheduled.
///
/// Every element keeps its slot until it is removed, so that removing and moving cost O(log n). An element is *scheduled* (in the
/// heap) or *parked* (counted, but without a deadline, like a timer whose callout is running).
///
/// Not thread-safe: its owner has a lock, so the runtime's checks of exclusive access would find nothing.
final class TimerHeap<Element> {
    /// The sort key.
    struct Key: Comparable {
        var deadline: Int64
        var sequence: UInt64

        static func < (left: Key, right: Key) -> Bool {
            left.deadline != right.deadline ? left.deadline < right.deadline : left.sequence < right.sequence
        }
    }

    /// The heap itself.
    @safe @exclusivity(unchecked) private var nodes = HeapStorage<HeapNode>()
    /// The elements that the nodes refer to, and free slots between them.
    @safe @exclusivity(unchecked) private var slots = HeapStorage<Slot>()
    @safe @exclusivity(unchecked) private var firstFree = -1
    @safe @exclusivity(unchecked) private var lastSequence: UInt64 = 0

    /// The cached end of a shared wait; nil after a change that may affect it.
    @safe @exclusivity(unchecked) private var shared: SharedWait?
    /// The frontier of the search for that end; kept for its memory.
    @safe @exclusivity(unchecked) private var frontier = HeapStorage<HeapNode>()
    /// How many elements the search has looked at in the life of the heap.
    @safe @exclusivity(unchecked) private(set) var looks = 0

    /// The most elements that one search looks at.
    static var looksPerSearch: Int { 64 }

    /// What sorts many that are due at once; made when there are.
    @safe @exclusivity(unchecked) private var batch: DueSort?

    /// The number of elements, including parked ones.
    @safe @exclusivity(unchecked) private(set) var count = 0

    deinit {
        nodes.free()
        slots.free()
        frontier.free()
        batch?.free()
    }

    private struct Slot {
        var element: Element?
        /// The position of the element in `nodes`, or `none`; in a free slot, the next free slot.
        var position: Int
        /// The number of the call that scheduled it.
        var sequence: UInt64
        /// The latest time at which it may fire, at least its deadline.
        var latest: Int64
    }

    /// The end of a wait that elements share.
    private struct SharedWait {
        /// The deadline at which it ends.
        let end: Int64
        /// The search looked at the elements up to this time; later ones have no effect.
        let horizon: Int64
        /// The earliest time at which one of them would be too late; never before `end`.
        let latest: Int64
        /// Whether the search stopped at its limit, so that more elements may share the wait.
        let isCut: Bool
    }

    private static var none: Int { -1 }

    /// Whether any element has no deadline.
    var hasParkedElements: Bool { nodes.count < count }

    /// The earliest deadline, if anything is scheduled.
    @inline(__always)
    var earliestDeadline: Int64? { nodes.count > 0 ? nodes[0].deadline : nil }

    /// Adds an element without a deadline and returns its slot.
    @inline(__always)
    func insertParked(_ element: Element, latest: Int64 = 0) -> Int {
        count &+= 1
        guard firstFree != Self.none else {
            slots.append(Slot(element: element, position: Self.none, sequence: 0, latest: latest))
            return slots.count &- 1
        }
        let slot = firstFree
        firstFree = slots[slot].position
        slots[slot].element = element
        slots[slot].position = Self.none
        slots[slot].latest = latest
        return slot
    }

    /// Adds an element with a deadline, after all others with the same deadline, and returns its slot.
    func insert(_ element: Element, at deadline: Int64, latest: Int64) -> Int {
        let slot = insertParked(element, latest: max(deadline, latest))
        lastSequence += 1
        placeParked(slot, with: Key(deadline: deadline, sequence: lastSequence))
        return slot
    }

    /// Gives an element a deadline, after all others with the same deadline.
    ///
    /// - Parameters:
    ///   - slot: The element's slot.
    ///   - deadline: The deadline.
    ///   - latest: The latest time at which it may fire to share a wait with others; `nil` for the deadline itself.
    func schedule(_ slot: Int, at deadline: Int64, latest: Int64? = nil) {
        lastSequence += 1
        // Done before the new time is stored: the shared wait may depend on the old one.
        park(slot)
        slots[slot].latest = max(deadline, latest ?? deadline)
        placeParked(slot, with: Key(deadline: deadline, sequence: lastSequence))
    }

    /// Puts a parked element back at its former place in the order.
    func restore(_ slot: Int, to key: Key) {
        place(slot, with: key)
    }

    /// Returns whether an element has a deadline.
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
    @inline(__always)
    func remove(_ slot: Int) {
        park(slot)
        slots[slot].element = nil
        slots[slot].position = firstFree
        firstFree = slot
        count -= 1
    }

    /// Forgets an object without releasing it, which somebody else does.
    ///
    /// `remove` must follow.
    @inline(__always)
    func leaveReference(to slot: Int) where Element: AnyObject {
        unsafe withUnsafeMutableBytes(of: &slots[slot].element) { bytes in
            // `nil`, as the bits of an object that is not there.
            unsafe bytes.storeBytes(of: 0, as: UInt.self)
        }
    }

    /// Parks the first element if its deadline is not after `limit`; returns its slot and its place in the order.
    func parkFirst(notAfter limit: Int64) -> (slot: Int, key: Key)? {
        guard nodes.count > 0, nodes[0].deadline <= limit else { return nil }
        let first = nodes[0]
        let key = key(of: first)
        park(first.slot)
        return (first.slot, key)
    }

    /// Parks the elements whose deadlines are not after `limit`, in their order; returns whether these were all of them.
    ///
    /// - Parameters:
    ///   - limit: The latest deadline.
    ///   - most: How many it parks at most, unless they are so few that sorting them does not take longer.
    ///   - body: Called with the slot of each and its place in the order.
    /// - Returns: Whether no such element is left.
    @inline(__always)
    func parkAll(notAfter limit: Int64, atMost most: Int, _ body: (_ slot: Int, _ key: Key) -> Void) -> Bool {
        if nodes.count >= Self.fewestSorted, nodes.count <= DueSort.most, gather(notAfter: limit) {
            parkGathered(notAfter: limit, body)
            return true
        }
        var taken = 0
        while taken < most, let (slot, key) = parkFirst(notAfter: limit) {
            body(slot, key)
            taken += 1
        }
        return taken < most
    }

    /// For fewer elements, sorting saves nothing.
    private static var fewestSorted: Int { 64 }

    /// Gathers the nodes whose deadlines are not after `limit`; returns whether they are so many that it is worth while to sort them.
    private func gather(notAfter limit: Int64) -> Bool {
        guard nodes[0].deadline <= limit else { return false }
        var found = batch ?? DueSort()
        defer { batch = found }
        found.removeAll()
        // Each has its position in place of its slot until all are found: a node is due only if the one above it is.
        found.append(HeapNode(deadline: nodes[0].deadline, slot: 0))
        var looked = 0
        while looked < found.count {
            for child in HeapNode.children(of: found[looked].slot)
            where child < nodes.count && nodes[child].deadline <= limit {
                found.append(HeapNode(deadline: nodes[child].deadline, slot: child))
            }
            looked += 1
        }
        guard found.count >= Self.fewestSorted, found.count &* 4 >= nodes.count else { return false }
        for place in 0..<found.count { found[place] = nodes[found[place].slot] }
        return true
    }

    /// Parks the nodes that were gathered, and makes a heap of the rest, which are at most three times as many.
    private func parkGathered(notAfter limit: Int64, _ body: (_ slot: Int, _ key: Key) -> Void) {
        shared = nil
        batch?.sort { slots[$0].sequence }
        var rest = 0
        for position in 0..<nodes.count where nodes[position].deadline > limit {
            set(nodes[position], at: rest)
            rest += 1
        }
        nodes.shrink(to: rest)
        if rest > 1 {
            for position in (0...HeapNode.parent(of: rest - 1)).reversed() { siftDown(nodes[position], from: position) }
        }
        guard let batch else { return }
        for place in 0..<batch.count {
            let node = batch[place]
            slots[node.slot].position = Self.none
            body(node.slot, key(of: node))
        }
    }

    /// Returns the memory address of the element in a slot, if it is an object; the slot must be in use.
    @inline(__always)
    func address(at slot: Int) -> UInt where Element: AnyObject {
        guard let element = slots[slot].element else { return 0 }
        return unsafe UInt(bitPattern: Unmanaged.passUnretained(element).toOpaque())
    }

    /// Returns the element in a slot, if it is an object, with a reference that the caller must release; the slot must be in use.
    @inline(__always)
    func retainedElement(at slot: Int) -> Unmanaged<Element>? where Element: AnyObject {
        unsafe slots[slot].element.map { unsafe Unmanaged.passRetained($0) }
    }

    /// Asks for the memory of a slot, without waiting for it.
    @inline(__always)
    func prefetch(_ slot: Int) { slots.prefetch(slot) }

    /// Calls `body` with every element, including parked ones.
    func visitAll(_ body: (Element) -> Void) {
        for slot in 0..<slots.count {
            if let element = slots[slot].element {
                body(element)
            }
        }
    }

    /// Calls `body` with every scheduled element whose deadline is not after the limit, in no particular order.
    ///
    /// `body` returns a new limit for the rest; only a lower one has an effect.
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
        placeParked(slot, with: key)
    }

    @inline(__always)
    private func placeParked(_ slot: Int, with key: Key) {
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

    /// Moves a node up from `start` if it belongs above; returns whether it does.
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

    /// Puts a node at `start` or below it.
    @inline(never)
    private func siftDown(_ node: HeapNode, from start: Int) {
        var position = start
        let count = nodes.count
        while true {
            let children = HeapNode.children(of: position)
            guard children.lowerBound < count else { break }
            let place =
                children.upperBound <= count ? firstOfFour(children.lowerBound) : first(of: children.lowerBound..<count)
            let smallest = nodes[place]
            guard isBefore(smallest, node) else { break }
            set(smallest, at: position)
            position = place
        }
        set(node, at: position)
    }

    /// Returns the position of the first of four nodes that follow each other, without a branch that depends on their order.
    ///
    /// A processor cannot predict such a branch: to compare one after the other took most of what taking out a timer did.
    @inline(__always)
    private func firstOfFour(_ start: Int) -> Int {
        let (a, b) = (nodes[start].deadline, nodes[start &+ 1].deadline)
        let (c, d) = (nodes[start &+ 2].deadline, nodes[start &+ 3].deadline)
        let (left, right) = (min(a, b), min(c, d))
        // Equal deadlines are rare.
        if Self.number(a == b) | Self.number(c == d) | Self.number(left == right) != 0 {
            return first(of: start..<start &+ 4)
        }
        let leftPlace = Self.number(b < a)
        let rightPlace = 2 &+ Self.number(d < c)
        return start &+ (leftPlace ^ ((leftPlace ^ rightPlace) & (0 &- Self.number(right < left))))
    }

    /// 1 for true: a conditional expression may become a branch.
    @inline(__always)
    private static func number(_ flag: Bool) -> Int { Int(unsafe unsafeBitCast(flag, to: UInt8.self)) }

    /// Returns the position of the first of some nodes.
    private func first(of positions: Range<Int>) -> Int {
        var first = positions.lowerBound
        for other in positions.dropFirst() where isBefore(nodes[other], nodes[first]) { first = other }
        return first
    }

    // MARK: Sharing a wait

    /// The time at which a wait should end so that elements share it; `nil` if there are no elements.
    ///
    /// This is the last deadline at which no element is too late. If many elements could share the wait, it is the deadline of the
    /// 64th, so that the search costs the same for a million. The search is repeated only after a change to elements that it has
    /// looked at.
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
        // The frontier holds positions in `nodes` with their deadlines. Each step removes the earliest and adds its children.
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

    /// Drops the cached answer if a new element could change it.
    private func noteArrival(of node: HeapNode) {
        guard let known = shared else { return }
        if node.deadline > known.horizon { return }
        if node.deadline <= known.end, slots[node.slot].latest >= known.latest { return }
        shared = nil
    }

    /// Drops the cached answer if it depends on an element that leaves.
    private func noteDeparture(of node: HeapNode) {
        guard let known = shared else { return }
        if node.deadline > known.horizon { return }
        // If the search was cut short, only the element at its end matters.
        if node.deadline != known.end, slots[node.slot].latest > known.latest || known.isCut { return }
        shared = nil
    }

    // MARK: Checking

    /// Returns the element in a slot, if there is one.
    func element(at slot: Int) -> Element? { slot >= 0 && slot < slots.count ? slots[slot].element : nil }

    /// Returns the defects of the structure; O(number of elements).
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
