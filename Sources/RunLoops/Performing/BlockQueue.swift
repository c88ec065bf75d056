import Synchronization

/// The blocks that wait for a run of their mode, and the performs that can be cancelled by their target.
///
/// Removed blocks are returned, so that they are released after unlocking.
final class BlockQueue: @unchecked Sendable {
    // Protected by the loop's lock.
    @safe @exclusivity(unchecked) private(set) var entries: [BlockEntry] = []
    /// Whether any of `entries` may have an order other than 0.
    @safe @exclusivity(unchecked) private var hasOrders = false
    /// Roughly how many of `entries` were cancelled.
    @safe @exclusivity(unchecked) private var cancelledCount = 0
    @safe @exclusivity(unchecked) private var listed = ListedPerforms()
    /// The number of queued blocks; written with the lock held, read by any thread.
    private let publishedCount = Atomic<Int>(0)

    /// An array kept for its memory, for the next detached blocks.
    ///
    /// Touched by the loop's thread only.
    @safe @exclusivity(unchecked) private var spare = SpareArray<BlockEntry>()

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

    /// Appends a block.
    @inline(__always)
    func append(_ entry: BlockEntry) {
        if case .object(let block) = entry {
            if block.order != 0 { hasOrders = true }
            if block.isListed { listed.insert(HostRunLoop.Perform(block: block, timer: nil)) }
        }
        entries.append(entry)
        publishCount()
    }

    /// Returns whether a queued block may run in a mode.
    func isAnyMatching(_ mode: LoopMode, isUsual: Bool, isCommon: Bool) -> Bool {
        for entry in entries where entry.isPending {
            if entry.matches(mode, isUsual: isUsual, isCommon: isCommon) { return true }
        }
        return false
    }

    /// Moves all blocks into an empty array and takes over its memory; returns whether the blocks may be out of order.
    func detach(into detached: inout [BlockEntry]) -> Bool {
        swap(&detached, &entries)
        let areOutOfOrder = hasOrders
        hasOrders = false
        cancelledCount = 0
        publishCount()
        return areOutOfOrder
    }

    /// Puts detached blocks back, in front of those that were queued since.
    func putBack(_ kept: [BlockEntry]) {
        entries.insert(contentsOf: kept, at: 0)
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
        let all = entries
        entries.removeAll { !$0.isPending }
        publishCount()
        return all
    }

    /// Removes all blocks, and the performs that wait for a timer.
    func removeAll() -> [BlockEntry] {
        var dropped: [BlockEntry] = []
        swap(&dropped, &entries)
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

    // MARK: Spare memory, on the loop's thread

    /// Takes the kept empty array; meanwhile a nested run detaches its blocks into another one.
    func takeRoom() -> [BlockEntry] { spare.take() }

    /// Gives an emptied array back.
    func giveBack(room: [BlockEntry]) { spare.giveBack(room) }

    // MARK: Damage

    /// Publishes a wrong count; `InvariantTests` uses it to prove that the check detects one.
    func damageCount() { publishedCount.add(7, ordering: .relaxed) }
}

/// An array that is kept for its memory between two uses.
///
/// If it is in use further down the stack, the caller gets a new empty array.
struct SpareArray<Element> {
    private var array: [Element] = []

    /// Takes the array, which is empty.
    @inline(__always)
    mutating func take() -> [Element] {
        let array = array
        self.array = []
        return array
    }

    /// Gives an empty array back.
    @inline(__always)
    mutating func giveBack(_ array: [Element]) { self.array = array }
}
