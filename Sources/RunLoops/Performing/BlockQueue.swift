import Synchronization

/// The blocks that wait for a run of their mode, and the performs that can be cancelled by their target.
///
/// Removed blocks are returned, so that they are released after unlocking.
final class BlockQueue: @unchecked Sendable {
    // Protected by the loop's lock.
    @safe @exclusivity(unchecked) private var entries = BlockList()
    /// Whether any of `entries` may have an order other than 0.
    @safe @exclusivity(unchecked) private var hasOrders = false
    /// Roughly how many of `entries` were cancelled.
    @safe @exclusivity(unchecked) private var cancelledCount = 0
    @safe @exclusivity(unchecked) private var listed = ListedPerforms()
    /// The number of queued blocks; written with the lock held, read by any thread.
    private let publishedCount = Atomic<Int>(0)

    /// Whether no block is queued.
    ///
    /// Callable from any thread.
    @inline(__always)
    var isEmpty: Bool { publishedCount.load(ordering: .acquiring) == 0 }

    /// Whether the published count is right.
    ///
    /// Called with the lock held.
    var isCountRight: Bool { publishedCount.load(ordering: .relaxed) == entries.count }

    @inline(__always)
    private func publishCount() { publishedCount.store(entries.count, ordering: .releasing) }

    // MARK: With the lock held

    /// All blocks, the oldest first.
    var all: [BlockEntry] { entries.all }

    /// Appends a plain block.
    @inline(__always)
    func append(_ block: __owned PlainBlock) {
        entries.append(.plain(block))
        publishCount()
    }

    /// Appends a block.
    func append(_ block: QueuedBlock) {
        if block.order != 0 { hasOrders = true }
        if block.isListed { listed.insert(HostRunLoop.Perform(block: block, timer: nil)) }
        entries.append(.object(block))
        publishCount()
    }

    /// Returns whether a queued block may run in a mode.
    func isAnyMatching(_ mode: LoopMode, isUsual: Bool, isCommon: Bool) -> Bool {
        entries.contains { $0.isPending && $0.matches(mode, isUsual: isUsual, isCommon: isCommon) }
    }

    /// Moves all blocks into an empty list and takes over its memory; returns whether the blocks may be out of order.
    func detach(into detached: inout BlockList) -> Bool {
        swap(&detached, &entries)
        let areOutOfOrder = hasOrders
        hasOrders = false
        cancelledCount = 0
        publishCount()
        return areOutOfOrder
    }

    /// Puts detached blocks back, in front of those that were queued since.
    func putBack(_ kept: [BlockEntry]) {
        let newer = entries.removeAll()
        entries.append(contentsOf: kept)
        entries.append(contentsOf: newer)
        hasOrders = hasOrders || kept.contains { $0.order != 0 }
        publishCount()
    }

    /// Counts a block that was cancelled.
    ///
    /// When half of the queue is cancelled, the queue is swept, so that cancelling costs O(1) on average.
    ///
    /// - Returns: Blocks to release after unlocking.
    func noteCancelled() -> [BlockEntry] {
        cancelledCount += 1
        guard cancelledCount * 2 >= entries.count else { return [] }
        cancelledCount = 0
        let all = entries.removeAll()
        entries.append(contentsOf: all.filter(\.isPending))
        publishCount()
        return all
    }

    /// Removes all blocks, and the performs that wait for a timer.
    func removeAll() -> [BlockEntry] {
        var dropped = entries.removeAll()
        dropped.append(contentsOf: listed.removeAll().map { .object($0.block) })
        publishCount()
        return dropped
    }

    // MARK: Listed performs, with the lock held

    /// Lists a perform that waits for a timer.
    func list(_ perform: HostRunLoop.Perform) { listed.insert(perform) }

    /// Removes a perform that runs now or will never run from the list, and returns it.
    func unlist(_ block: QueuedBlock) -> HostRunLoop.Perform? { listed.remove(block) }

    /// Returns the performs of a target, oldest first.
    func performs(of target: ObjectIdentifier) -> [HostRunLoop.Perform] { listed.performs(of: target) }

    // MARK: Damage

    /// Publishes a wrong count; `InvariantTests` uses it to prove that the check detects one.
    func damageCount() { publishedCount.add(7, ordering: .relaxed) }
}
