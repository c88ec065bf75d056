import Synchronization

/// The blocks that wait for a run of their mode, and the performs that can be cancelled by their target.
///
/// What is removed is returned, so that it is released after unlocking.
final class BlockQueue: @unchecked Sendable {
    // Protected by the loop's lock.
    @safe @exclusivity(unchecked) private(set) var entries: [BlockEntry] = []
    /// Whether any of `entries` may have an order of its own.
    @safe @exclusivity(unchecked) private var hasOrders = false
    /// About how many of `entries` were cancelled.
    @safe @exclusivity(unchecked) private var cancelledCount = 0
    @safe @exclusivity(unchecked) private var listed = ListedPerforms()
    /// How many blocks are queued: written with the lock held, read by any thread.
    private let publishedCount = Atomic<Int>(0)

    /// Room for what is detached: touched by the loop's thread only.
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

    /// Puts a block behind all others.
    @inline(__always)
    func append(_ entry: BlockEntry) {
        if case .object(let block) = entry {
            if block.order != 0 { hasOrders = true }
            if block.isListed { listed.insert(HostRunLoop.Perform(block: block, timer: nil)) }
        }
        entries.append(entry)
        publishCount()
    }

    /// Says whether a queued block may run in a mode.
    func isAnyMatching(_ mode: LoopMode, isUsual: Bool, isCommon: Bool) -> Bool {
        for entry in entries where entry.isPending {
            if entry.matches(mode, isUsual: isUsual, isCommon: isCommon) { return true }
        }
        return false
    }

    /// Moves all blocks into an array, which is empty and gives its room, and says whether they may be out of order.
    func detach(into detached: inout [BlockEntry]) -> Bool {
        swap(&detached, &entries)
        let areOutOfOrder = hasOrders
        hasOrders = false
        cancelledCount = 0
        publishCount()
        return areOutOfOrder
    }

    /// Puts blocks that were detached back in front of those that were queued since.
    func putBack(_ kept: [BlockEntry]) {
        entries.insert(contentsOf: kept, at: 0)
        hasOrders = hasOrders || kept.contains { $0.order != 0 }
        publishCount()
    }

    /// Takes note that a block will not run.
    ///
    /// The queue is swept when half of it are such blocks, so that cancelling costs O(1) on average.
    ///
    /// - Returns: What is to be released after unlocking.
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

    // MARK: Performs that can be found, with the lock held

    /// Lists a perform that waits for a timer.
    func list(_ perform: HostRunLoop.Perform) { listed.insert(perform) }

    /// Forgets a perform that runs now or will never run, and returns it.
    func unlist(_ block: QueuedBlock) -> HostRunLoop.Perform? { listed.remove(block) }

    /// Returns the performs of a target, oldest first.
    func performs(of target: ObjectIdentifier) -> [HostRunLoop.Perform] { listed.performs(of: target) }

    // MARK: Room, on the loop's thread

    /// Takes an empty array with the room of the last one: what a nested run detaches goes into another.
    func takeRoom() -> [BlockEntry] { spare.take() }

    /// Gives an empty array back.
    func giveBack(room: [BlockEntry]) { spare.giveBack(room) }

    // MARK: Damage

    /// Publishes a wrong count: `InvariantTests` proves by it that the check can see something.
    func damageCount() { publishedCount.add(7, ordering: .relaxed) }
}

/// An array that is kept for its room between two uses.
///
/// Who finds it taken, further up on the same stack, gets one without room.
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
