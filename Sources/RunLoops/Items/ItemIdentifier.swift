import Synchronization

/// The identifiers that crash reports show for sources, timers, observers and blocks.
enum ItemIdentifier {
    private static let last = Atomic<UInt64>(0)

    /// Returns a new even number, unique in the process.
    static func next() -> UInt64 {
        last.wrappingAdd(2, ordering: .relaxed).newValue
    }

    /// Reserves some numbers and returns the one before the first.
    static func reserve(_ count: UInt64) -> UInt64 {
        last.wrappingAdd(2 * count, ordering: .relaxed).oldValue
    }

    /// Returns a new odd number, for an item of the host's own.
    ///
    /// Anyone who sees the number can tell, even a fault handler.
    static func nextOfHost() -> UInt64 { next() | 1 }
}

/// Identifiers for the plain blocks of one loop, which has many of them and takes some at a time.
///
/// Touched by the loop's thread only.
struct BlockIdentifiers {
    private static var portion: UInt64 { 256 }

    private var last: UInt64 = 0
    private var left: UInt64 = 0

    /// Returns a new even number, unique in the process.
    @inline(__always)
    mutating func next() -> UInt64 {
        if left == 0 {
            last = ItemIdentifier.reserve(Self.portion)
            left = Self.portion
        }
        left &-= 1
        last &+= 2
        return last
    }
}

extension HostRunLoop {
    /// Returns a number that no item of any loop has, for what is judged and counted like one.
    ///
    /// Callable from any thread.
    package static func nextItemIdentifier() -> UInt64 { ItemIdentifier.next() }

    /// Returns whether the host made an item for itself, such as the port on which signals arrive.
    ///
    /// Such an item is never withheld or withdrawn: without it, only SIGKILL could end the process. Callable from any thread.
    ///
    /// - Parameter item: The identifier of the item.
    /// - Returns: Whether the item is the host's own.
    package static func isHostsOwn(item: UInt64) -> Bool { item & 1 == 1 }
}
