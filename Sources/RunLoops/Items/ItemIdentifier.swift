import Synchronization

/// The identity of sources, timers, observers and blocks in crash reports.
enum ItemIdentifier {
    private static let last = Atomic<UInt64>(0)

    /// Returns a number that no item of this process has had.
    static func next() -> UInt64 {
        last.wrappingAdd(1, ordering: .relaxed).newValue
    }
}
