import Synchronization

/// What sources, port sources, timers and observers have in common.
protocol LoopItem: AnyObject, Sendable {
    /// Unique in the process, for crash reports.
    var identifier: UInt64 { get }

    /// What a crash report calls it.
    var label: String { get }

    /// Whether the item was not invalidated.
    var isValid: Bool { get }

    /// In which modes of which loops it is. Protected by the item's lock; changed with the loop's lock held too.
    var memberships: Memberships { get set }

    /// Whether it can be in one loop only.
    static var belongsToOneLoop: Bool { get }

    /// Whether it keeps its modes from being empty.
    static var keepsModeAlive: Bool { get }

    /// Whether it can be withdrawn: performs that wait for their time cannot.
    var canBeWithdrawn: Bool { get }

    /// Whether it has something to do when it has entered or left a mode.
    static var isToldOfMoving: Bool { get }

    /// Takes the item's lock; no lock of another item and of no loop is taken while it is held.
    func lockItem()

    /// Frees the item's lock.
    func unlockItem()

    /// Enters the mode's items and returns the slot. Called with the loop's and the item's lock held.
    func enter(_ mode: LoopMode) throws(RunLoopError) -> Int

    /// Leaves the mode's items. Called with the loop's and the item's lock held.
    func leave(_ mode: LoopMode, slot: Int)

    /// Is told after it left a mode, with no lock held.
    func didLeave(_ mode: LoopMode, of loop: HostRunLoop)
}

extension LoopItem {
    static var isToldOfMoving: Bool { false }
    var canBeWithdrawn: Bool { true }

    /// Whether the host made it for itself.
    var isHostsOwn: Bool { HostRunLoop.isHostsOwn(item: identifier) }

    /// Whether its input comes from others: who knows how to make it fault must not be able to have it left out.
    var isFedByOthers: Bool { (self as? HostRunLoop.PortSource)?.bringsWordsFromOthers == true }

    /// What kind of item it is.
    var kind: HostRunLoop.CalloutKind {
        switch self {
        case is HostRunLoop.Timer: .timer
        case is HostRunLoop.Observer: .observer
        case is HostRunLoop.PortSource: .port
        default: .source
        }
    }

    /// Runs `body` with the item's lock held.
    @inline(__always)
    func withItemLock<Value, Failure>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        lockItem()
        defer { unlockItem() }
        return try body()
    }

    func didLeave(_ mode: LoopMode, of loop: HostRunLoop) {}

    /// Removes an item that was just marked invalid from every mode of every loop.
    func removeFromAllLoops() {
        // In a forked child, what is in a loop of the parent stays there.
        while let loop = withItemLock({ memberships.firstLoop { !$0.isInheritedByFork } }) {
            var left: [LoopMode] = []
            loop.lock.lock()
            // The item is alive in `self`: nothing is released here.
            loop.takeOutOfAllModes(self) { mode in
                if Self.isToldOfMoving { left.append(mode) }
            }
            loop.lock.unlock()
            for mode in left {
                didLeave(mode, of: loop)
            }
        }
        if withItemLock({ memberships.wasWithdrawn }) { WithdrawalTable.shared.endAll(of: identifier) }
    }
}
