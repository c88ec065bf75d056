/// The port sources of a mode, by the tokens under which epoll reports them.
struct PortTable {
    /// The token of the loop's own eventfd.
    static var wakeToken: UInt64 { .max }
    /// The token of the loop's own timerfd.
    static var timerToken: UInt64 { .max - 2 }
    /// The token of the main dispatch queue's eventfd.
    static var mainQueueToken: UInt64 { .max - 1 }

    private var table = SlotTable<HostRunLoop.PortSource>()
    /// The slot that registered a descriptor number last.
    ///
    /// An older slot with the same number must no longer touch the kernel's registration: its file was closed, and the number was
    /// reused.
    private var slotOfDescriptor: [CInt: Int] = [:]

    /// How many descriptors the kernel watches for them.
    var descriptorCount: Int { slotOfDescriptor.count }

    /// Puts a source into a free slot.
    mutating func insert(_ source: HostRunLoop.PortSource) -> Int {
        table.insert(source)
    }

    /// Records that the kernel's registration of a descriptor belongs to a slot.
    mutating func claim(_ descriptor: CInt, for slot: Int) {
        slotOfDescriptor[descriptor] = slot
    }

    /// Returns whether the kernel's registration of a descriptor belongs to a slot.
    func owns(_ descriptor: CInt, slot: Int) -> Bool {
        slotOfDescriptor[descriptor] == slot
    }

    /// Frees a slot; its token becomes invalid, so that harvested events of the source are dropped.
    ///
    /// - Returns: Whether the kernel's registration of the descriptor belonged to the slot.
    mutating func remove(slot: Int, descriptor: CInt) -> Bool {
        _ = table.remove(at: slot)
        guard owns(descriptor, slot: slot) else { return false }
        slotOfDescriptor[descriptor] = nil
        return true
    }

    /// Returns the token of a slot's source.
    func token(of slot: Int) -> UInt64 { table.token(at: slot) }

    /// Returns the source for a token, unless it was removed.
    func source(for token: UInt64) -> HostRunLoop.PortSource? { table.element(for: token) }

    /// Calls `body` with every source.
    func visitAll(_ body: (HostRunLoop.PortSource) -> Void) { table.visitAll(body) }
}

/// Elements in places that they keep until they are removed.
///
/// A token stands for an element, not only for its place. It becomes invalid when the element is removed, even if another element
/// takes the place.
struct SlotTable<Element> {
    private struct Slot {
        var element: Element?
        var generation: UInt32
    }

    private var slots: [Slot] = []
    private var free: [Int] = []

    /// The number of elements.
    var count: Int { slots.count - free.count }

    /// Puts an element into a free place and returns the place.
    mutating func insert(_ element: Element) -> Int {
        if let place = free.popLast() {
            slots[place].element = element
            return place
        }
        slots.append(Slot(element: element, generation: 0))
        return slots.count - 1
    }

    /// Removes the element at a place and returns it.
    mutating func remove(at place: Int) -> Element? {
        guard let element = slots[place].element else { return nil }
        slots[place].element = nil
        slots[place].generation &+= 1
        free.append(place)
        return element
    }

    /// Reads or replaces the element at a place.
    subscript(place: Int) -> Element? {
        get { slots[place].element }
        set { slots[place].element = newValue }
    }

    /// Returns the token of the element at a place.
    func token(at place: Int) -> UInt64 {
        UInt64(slots[place].generation) << 32 | UInt64(place)
    }

    /// Returns the element for a token, unless it was removed.
    func element(for token: UInt64) -> Element? {
        let place = Int(token & 0xFFFF_FFFF)
        guard place < slots.count, slots[place].generation == UInt32(token >> 32) else { return nil }
        return slots[place].element
    }

    /// Calls `body` with the elements of some groups: a group is every 64th place, and has the bit of its first one.
    @inline(__always)
    func visit(_ groups: UInt64, _ body: (Element) -> Void) {
        var rest = groups
        while rest != 0 {
            for place in stride(from: rest.trailingZeroBitCount, to: slots.count, by: 64) {
                if let element = slots[place].element {
                    body(element)
                }
            }
            rest &= rest &- 1
        }
    }

    /// Calls `body` with every element, in the order of the places.
    func visitAll(_ body: (Element) -> Void) {
        // By index: an iterator counts a reference to the array, and to each element once more.
        for place in slots.indices {
            if let element = slots[place].element {
                body(element)
            }
        }
    }
}
