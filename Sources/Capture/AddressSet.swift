/// The distinct program counters of a walk, in the order in which they were met: a recursion has many frames and few of these.
///
/// For one thread. Made once and never freed: walks must not allocate.
@safe
final class AddressSet {
    static let capacity = 1024
    private static let slotCount = 4096

    /// The addresses, the innermost first.
    private let addresses: UnsafeMutablePointer<UInt64>
    /// The index of an address in `addresses`, plus one, by open addressing; 0 for none.
    private let slots: UnsafeMutablePointer<UInt16>
    private var count = 0
    /// Whether there were more addresses than there is room for.
    private(set) var isIncomplete = false

    init() {
        unsafe addresses = .allocate(capacity: Self.capacity)
        unsafe addresses.initialize(repeating: 0, count: Self.capacity)
        unsafe slots = .allocate(capacity: Self.slotCount)
        unsafe slots.initialize(repeating: 0, count: Self.slotCount)
    }

    deinit {
        unsafe addresses.deallocate()
        unsafe slots.deallocate()
    }

    /// Forgets all addresses.
    func reset() {
        if count > 0 { unsafe slots.update(repeating: 0, count: Self.slotCount) }
        count = 0
        isIncomplete = false
    }

    /// Adds an address, unless it is there.
    func insert(_ address: UInt64) {
        var slot = Int(truncatingIfNeeded: (address &* 0x9e37_79b9_7f4a_7c15) >> 52) & (Self.slotCount - 1)
        while unsafe slots[slot] != 0 {
            if unsafe addresses[Int(slots[slot]) - 1] == address { return }
            slot = (slot + 1) & (Self.slotCount - 1)
        }
        guard count < Self.capacity else {
            isIncomplete = true
            return
        }
        unsafe addresses[count] = address
        count += 1
        unsafe slots[slot] = UInt16(count)
    }

    /// Calls `body` with the addresses, the innermost first.
    func withAddresses<Result>(_ body: (UnsafeBufferPointer<UInt64>) -> Result) -> Result {
        unsafe body(UnsafeBufferPointer(start: addresses, count: count))
    }
}
