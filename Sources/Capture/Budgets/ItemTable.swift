/// Values for some loop items, by identity, in storage of a fixed size: nothing is allocated once it is made.
///
/// Open addressing with linear probing (Knuth, The Art of Computer Programming, volume 3, 6.4). A removed item leaves a mark, so that the
/// items behind it are still found. The identity 0 means none and is never in the table.
@safe
package struct ItemTable<Value: Sendable>: ~Copyable, @unchecked Sendable {
    private struct Slot {
        /// 0 for none.
        var item: UInt64
        /// When the item was added or used last; 0 for a slot that was never used, which ends a search.
        var use: UInt64
        var value: Value
    }

    /// A power of two.
    package let capacity: Int
    private let slots: UnsafeMutablePointer<Slot>
    private let vacant: Value
    private var uses: UInt64 = 0
    /// How many items it has.
    private(set) var count = 0

    /// Makes a table for a power of two of items; a vacant slot holds the value given.
    package init(capacity: Int, vacant: Value) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "the capacity of a table is a power of two")
        self.capacity = capacity
        self.vacant = vacant
        unsafe slots = .allocate(capacity: capacity)
        unsafe slots.initialize(repeating: Slot(item: 0, use: 0, value: vacant), count: capacity)
    }

    deinit {
        unsafe slots.deinitialize(count: capacity)
        unsafe slots.deallocate()
    }

    package var isFull: Bool { count == capacity }

    /// The place of an item, nil if it is not in the table.
    package func place(of item: UInt64) -> Int? {
        guard item != 0 else { return nil }
        var place = home(of: item)
        for _ in 0..<capacity {
            if unsafe slots[place].item == item { return place }
            if unsafe slots[place].use == 0 { return nil }
            place = (place + 1) & (capacity - 1)
        }
        return nil
    }

    /// The item at a place, 0 for none.
    package func item(at place: Int) -> UInt64 { unsafe slots[place].item }

    /// When the item at a place was used last: a number that grows.
    package func lastUse(at place: Int) -> UInt64 { unsafe slots[place].use }

    package func value(at place: Int) -> Value { unsafe slots[place].value }

    /// Replaces a value, which counts as a use.
    ///
    /// - Returns: The value that was there, for the caller to release outside of any lock.
    @discardableResult
    package mutating func setValue(_ value: Value, at place: Int) -> Value {
        let old = unsafe slots[place].value
        uses += 1
        unsafe slots[place].use = uses
        unsafe slots[place].value = value
        return old
    }

    /// Adds an item that is not there yet.
    ///
    /// - Returns: Whether there was room.
    @discardableResult
    package mutating func insert(_ item: UInt64, _ value: Value) -> Bool {
        guard item != 0, !isFull else { return false }
        var place = home(of: item)
        while unsafe slots[place].item != 0 { place = (place + 1) & (capacity - 1) }
        count += 1
        unsafe slots[place].item = item
        setValue(value, at: place)
        return true
    }

    /// Adds the items of another table, none of which this one has.
    package mutating func add(contentsOf other: borrowing ItemTable) {
        for place in 0..<other.capacity where other.item(at: place) != 0 {
            insert(other.item(at: place), other.value(at: place))
        }
    }

    /// Removes the item at a place.
    ///
    /// - Returns: The value that was there.
    @discardableResult
    package mutating func remove(at place: Int) -> Value {
        let old = setValue(vacant, at: place)
        if unsafe slots[place].item != 0 { count -= 1 }
        unsafe slots[place].item = 0
        return old
    }

    /// The place of the item that was used longest ago, nil when there is none.
    var oldest: Int? {
        var oldest: Int?
        for place in 0..<capacity where unsafe slots[place].item != 0 {
            if let found = oldest, unsafe slots[found].use <= slots[place].use { continue }
            oldest = place
        }
        return oldest
    }

    /// Fibonacci hashing: identities are consecutive numbers, and this spreads them.
    private func home(of item: UInt64) -> Int {
        Int(truncatingIfNeeded: (item &* 0x9E37_79B9_7F4A_7C15) >> 32) & (capacity - 1)
    }
}
