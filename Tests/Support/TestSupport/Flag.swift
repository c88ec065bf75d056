import Synchronization

/// Set once, by any thread.
public final class Flag: Sendable {
    private let value = Atomic<Bool>(false)

    /// Makes one that is not set.
    public init() {}

    /// Whether it was set.
    public var isSet: Bool { value.load(ordering: .acquiring) }

    /// Sets it.
    public func set() { value.store(true, ordering: .releasing) }
}
