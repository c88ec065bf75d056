import Synchronization

/// The identity of sources, timers, observers and blocks in crash reports.
enum ItemIdentifier {
    private static let last = Atomic<UInt64>(0)

    /// Returns a number that no item of this process has had: an even one.
    static func next() -> UInt64 {
        last.wrappingAdd(2, ordering: .relaxed).newValue
    }

    /// The same for an item of the host's own: an odd one, so that whoever has the number can tell, a fault handler included.
    static func nextOfHost() -> UInt64 { next() | 1 }
}

extension HostRunLoop {
    /// Whether an item is one that the host made for itself, such as the port on which signals arrive.
    ///
    /// Such an item is never withheld or withdrawn: without it nobody could end the process but by SIGKILL. Callable from any thread.
    ///
    /// - Parameter item: The identity of the item.
    /// - Returns: Whether it is the host's.
    package static func isHostsOwn(item: UInt64) -> Bool { item & 1 == 1 }
}
