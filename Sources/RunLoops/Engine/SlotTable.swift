/// Elements at places that stay theirs until they are removed.
///
/// A token names an element and not only its place: it stops working when the element is removed, even when another one
/// takes the place.
struct SlotTable<Element> {
    private struct Slot {
        var element: Element?
        var generation: UInt32
    }

    private var slots: [Slot] = []
    private var free: [Int] = []

    /// How many elements there are.
    var count: Int { slots.count - free.count }

    /// Puts an element at a free place and returns that.
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

    /// Returns the element that a token names, unless it was removed.
    func element(for token: UInt64) -> Element? {
        let place = Int(token & 0xFFFF_FFFF)
        guard place < slots.count, slots[place].generation == UInt32(token >> 32) else { return nil }
        return slots[place].element
    }

    /// Calls `body` with every element, in the order of the places.
    func visitAll(_ body: (Element) -> Void) {
        for slot in slots {
            if let element = slot.element {
                body(element)
            }
        }
    }
}
