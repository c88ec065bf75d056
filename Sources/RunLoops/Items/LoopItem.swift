import Synchronization

/// That an item is in a mode of a loop.
struct Membership {
    let loop: HostRunLoop
    let mode: LoopMode
    /// Where it is among the mode's items of its kind.
    let slot: Int
}

/// What sources, port sources, timers and observers have in common.
protocol LoopItem: AnyObject, Sendable {
    /// Unique in the process, for crash reports.
    var identifier: UInt64 { get }

    /// Whether the item was not invalidated.
    var isValid: Bool { get }

    /// In which modes of which loops it is. Protected by the item's lock; changed with the loop's lock held too.
    var memberships: [Membership] { get set }

    /// Whether it can be in one loop only.
    static var belongsToOneLoop: Bool { get }

    /// Whether it keeps its modes from being empty.
    static var keepsModeAlive: Bool { get }

    /// Runs `body` with the item's lock held.
    func withItemLock<Value, Failure>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value

    /// Enters the mode's items and returns the slot. Called with the loop's and the item's lock held.
    func enter(_ mode: LoopMode) throws(RunLoopError) -> Int

    /// Leaves the mode's items. Called with the loop's and the item's lock held.
    func leave(_ mode: LoopMode, slot: Int)

    /// Is told after it left a mode, with no lock held.
    func didLeave(_ mode: LoopMode, of loop: HostRunLoop)
}

extension LoopItem {
    func didLeave(_ mode: LoopMode, of loop: HostRunLoop) {}

    /// Removes an item that was just marked invalid from every mode of every loop.
    func removeFromAllLoops() {
        while let membership = withItemLock({ memberships.first }) {
            let loop = membership.loop
            let left = loop.lock.withLock {
                // The item is alive in `self`: nothing is released here.
                _ = loop.commonItems.removeValue(forKey: identifier)
                return loop.take(self, outOf: membership.mode)
            }
            if left {
                didLeave(membership.mode, of: loop)
            }
        }
    }
}
