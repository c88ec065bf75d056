import Synchronization

/// The blocks that wait for a run of their mode, and the performs that can be cancelled by their target.
///
/// Any thread adds a block without a lock; for all else the loop's lock is held. Removed blocks are returned, so that they are released
/// after unlocking.
final class BlockQueue: @unchecked Sendable {
    /// The blocks behind `entries`.
    private let inbox = BlockInbox()

    // Protected by the loop's lock.
    @safe @exclusivity(unchecked) private var entries = BlockList()
    /// Whether any block may have an order other than 0.
    @safe @exclusivity(unchecked) private var hasOrders = false
    /// Roughly how many of the blocks were cancelled.
    @safe @exclusivity(unchecked) private var cancelledCount = 0
    @safe @exclusivity(unchecked) private var listed = ListedPerforms()
    /// The number of `entries`; written with the lock held, read by any thread.
    private let publishedCount = Atomic<Int>(0)

    /// Whether no block is queued.
    ///
    /// Callable from any thread.
    @inline(__always)
    var isEmpty: Bool { inbox.isEmpty && publishedCount.load(ordering: .acquiring) == 0 }

    /// Claims a place for a block that needs nothing else; `nil` if that takes the lock.
    ///
    /// Callable from any thread, in a critical section that ends when the place is filled.
    @inline(__always)
    func claim() -> BlockInbox.Place? { inbox.claim() }

    /// Whether the published count is right.
    ///
    /// Called with the lock held.
    var isCountRight: Bool { publishedCount.load(ordering: .relaxed) == entries.count }

    @inline(__always)
    private func publishCount() { publishedCount.store(entries.count, ordering: .releasing) }

    // MARK: With the lock held

    /// Returns whether a condition holds for any block; asks for the oldest first.
    func contains(where isWanted: (borrowing BlockEntry) -> Bool) -> Bool {
        entries.contains(where: isWanted) || inbox.contains(where: isWanted)
    }

    /// Claims a place for a block.
    func claimWithLock() -> BlockInbox.Place { inbox.claimWithLock() }

    /// Notes that a block was refused, because the loop accepts no more.
    func refuse() { inbox.refuse() }

    /// Appends a block that may have an order, a target or a delay.
    func append(_ block: QueuedBlock) {
        if block.order != 0 { hasOrders = true }
        if block.isListed { listed.insert(HostRunLoop.Perform(block: block, timer: nil)) }
        inbox.claimWithLock().fill(with: .object(block))
    }

    /// Returns whether a queued block may run in a mode.
    func isAnyMatching(_ mode: LoopMode, isUsual: Bool, isCommon: Bool) -> Bool {
        contains { $0.canRun(in: mode, isUsual: isUsual, isCommon: isCommon) }
    }

    /// Moves all blocks into an empty list and takes over its memory; returns whether the blocks may be out of order.
    func detach(into detached: inout BlockList) -> Bool {
        inbox.absorb(&detached.spares)
        swap(&detached, &entries)
        inbox.takeAll(into: &detached, isLast: false)
        let areOutOfOrder = hasOrders
        hasOrders = false
        cancelledCount = 0
        publishCount()
        return areOutOfOrder
    }

    /// Puts detached blocks back, in front of those that were queued since.
    func putBack(_ kept: inout BlockList) {
        hasOrders = hasOrders || kept.contains { $0.order != 0 }
        kept.append(contentsOf: &entries)
        swap(&kept, &entries)
        publishCount()
    }

    /// Counts a block that was cancelled.
    ///
    /// When half of the queue is cancelled, the queue is swept, so that cancelling costs O(1) on average.
    ///
    /// - Parameter swept: Takes the blocks to release after unlocking.
    func noteCancelled(_ swept: inout BlockList) {
        cancelledCount += 1
        guard cancelledCount * 2 >= entries.count + inbox.count else { return }
        cancelledCount = 0
        // Before the inbox is empty: the loop's thread looks at both without the lock, and must not find nothing while some are in neither.
        publishedCount.store(entries.count + inbox.count, ordering: .sequentiallyConsistent)
        var all = BlockList()
        swap(&all, &entries)
        inbox.takeAll(into: &all, isLast: false)
        while let block = all.popFirst() {
            if block.isPending { entries.append(block) } else { swept.append(block) }
        }
        publishCount()
    }

    /// Removes all blocks; no more are accepted without the lock.
    func close() -> BlockList {
        var all = BlockList()
        swap(&all, &entries)
        inbox.takeAll(into: &all, isLast: true)
        publishCount()
        return all
    }

    // MARK: Listed performs, with the lock held

    /// Lists a perform that waits for a timer.
    func list(_ perform: HostRunLoop.Perform) { listed.insert(perform) }

    /// Removes a perform that runs now or will never run from the list, and returns it.
    func unlist(_ block: QueuedBlock) -> HostRunLoop.Perform? { listed.remove(block) }

    /// Removes all performs, and returns the blocks of those that wait for a timer.
    func unlistAll() -> [QueuedBlock] { listed.removeAll().map(\.block) }

    /// Returns the performs of a target, oldest first.
    func performs(of target: ObjectIdentifier) -> [HostRunLoop.Perform] { listed.performs(of: target) }

    // MARK: Damage

    /// Publishes a wrong count; `InvariantTests` uses it to prove that the check detects one.
    func damageCount() { publishedCount.add(7, ordering: .relaxed) }
}
