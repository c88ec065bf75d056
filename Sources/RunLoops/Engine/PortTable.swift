/// The port sources of a mode, by the tokens under which epoll reports them.
struct PortTable {
    /// The token of the loop's own eventfd.
    static var wakeToken: UInt64 { .max }
    /// The token of the loop's own timerfd.
    static var timerToken: UInt64 { .max - 2 }
    /// The token of the main dispatch queue's eventfd.
    static var mainQueueToken: UInt64 { .max - 1 }

    private var table = SlotTable<HostRunLoop.PortSource>()
    /// Which slot registered a descriptor number last.
    ///
    /// An older one must not touch the kernel's registration any more:
    /// its file was closed and the number given to another.
    private var slotOfDescriptor: [CInt: Int] = [:]

    /// How many descriptors the kernel watches for them.
    var descriptorCount: Int { slotOfDescriptor.count }

    /// Gives a source a slot.
    mutating func insert(_ source: HostRunLoop.PortSource) -> Int {
        table.insert(source)
    }

    /// Notes that a slot's descriptor is known to the kernel.
    mutating func claim(_ descriptor: CInt, for slot: Int) {
        slotOfDescriptor[descriptor] = slot
    }

    /// Says whether the kernel's registration of a descriptor is that of a slot.
    func owns(_ descriptor: CInt, slot: Int) -> Bool {
        slotOfDescriptor[descriptor] == slot
    }

    /// Frees a slot; from now on its token names nothing, so that harvested events of the source are dropped.
    ///
    /// - Returns: Whether the kernel's registration of the descriptor was that of the slot.
    mutating func remove(slot: Int, descriptor: CInt) -> Bool {
        _ = table.remove(at: slot)
        guard owns(descriptor, slot: slot) else { return false }
        slotOfDescriptor[descriptor] = nil
        return true
    }

    /// Returns the token of a slot's source.
    func token(of slot: Int) -> UInt64 { table.token(at: slot) }

    /// Returns the source that a token names, unless it was removed.
    func source(for token: UInt64) -> HostRunLoop.PortSource? { table.element(for: token) }

    /// Calls `body` with every source.
    func visitAll(_ body: (HostRunLoop.PortSource) -> Void) { table.visitAll(body) }
}
