import LinuxSystem
import Synchronization

extension HostRunLoop {
    /// Anything that can be added to the modes of a loop: a timer, a source, a port source, an observer, a command source or a
    /// message port.
    ///
    /// It is valid until it is invalidated; an invalid item never becomes valid again. Callable from any thread.
    public class Item: @unchecked Sendable {
        /// The identity of the item in crash reports, unique in the process.
        public final let identifier: UInt64
        final let name: ItemName
        /// The actor that its closure belongs to; `nil` if it belongs to none.
        final let isolation: (any Actor)?
        private let lock = BriefCriticalLock()
        private let valid = Atomic<Bool>(true)
        /// The modes and loops that it is in.
        ///
        /// Protected by the item's lock; changes also need the lock of the loop that they are about, which may be another one for each.
        @safe @exclusivity(unchecked) final var memberships = Memberships()

        init(_ identifier: UInt64 = ItemIdentifier.next(), label: String, isolation: (any Actor)?) {
            self.identifier = identifier
            name = ItemName(label)
            self.isolation = isolation
        }

        /// The name that crash reports show for it.
        public final var label: String { name.text }

        /// Whether the loop will still call it: it was not invalidated and, if it fires only once, has not finished firing.
        ///
        /// A message port also becomes invalid when its connection is closed.
        public final var isValid: Bool { isAlive }

        /// Invalidates it: it leaves every mode of every loop and is never called again.
        ///
        /// Anything that already waits for it is dropped: commands and undelivered messages. Senders are told. If one of its
        /// callouts is running, that callout continues.
        public final func invalidate() { end() }

        /// The identifiers under which its callouts are recorded; several if it is built from other items.
        package var calloutIdentifiers: [UInt64] { [identifier] }

        /// Marks it as invalid and returns whether it was valid.
        final func endLife() -> Bool { valid.exchange(false, ordering: .acquiringAndReleasing) }

        /// Does the same with the item's lock held, for a kind that does it in no other way.
        @inline(__always)
        final func endLifeWithItemLock() -> Bool {
            guard valid.load(ordering: .relaxed) else { return false }
            valid.store(false, ordering: .releasing)
            return true
        }

        // MARK: Overridden by each kind

        /// Whether it was not invalidated.
        var isAlive: Bool { valid.load(ordering: .acquiring) }

        /// Invalidates it.
        func end() { preconditionFailure("a kind of item must override this") }

        /// Adds it to a mode of a loop; the result says whether it was added.
        func join(_ loop: HostRunLoop, in mode: Mode) throws(RunLoopError) -> AddResult {
            preconditionFailure("a kind of item must override this")
        }

        /// Removes it from a mode of a loop.
        func part(from loop: HostRunLoop, in mode: Mode) { preconditionFailure("a kind of item must override this") }

        /// Returns whether it is in a mode of a loop.
        func isMember(of loop: HostRunLoop, in mode: Mode) -> Bool {
            preconditionFailure("a kind of item must override this")
        }

        // MARK: The item's lock

        /// Takes the item's lock.
        ///
        /// While holding it, do not take the lock of another item or of a loop.
        @inline(__always)
        final func lockItem() { lock.lock() }

        /// Releases the item's lock.
        @inline(__always)
        final func unlockItem() { lock.unlock() }

        /// Runs `body` with the item's lock held.
        @inline(__always)
        final func withItemLock<Value, Failure>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
            try lock.withLock(body)
        }
    }
}

/// An item that a loop serves directly: a source, a port source, a timer or an observer.
protocol LoopItem: HostRunLoop.Item {
    /// Whether it can be in one loop only.
    static var belongsToOneLoop: Bool { get }

    /// Whether it keeps its modes from being empty.
    static var keepsModeAlive: Bool { get }

    /// Whether it can be withdrawn; the timer of a delayed perform cannot.
    var canBeWithdrawn: Bool { get }

    /// Whether it must be told when it enters or leaves a mode.
    static var isToldOfMoving: Bool { get }

    /// Adds it to the mode's items and returns its slot.
    ///
    /// Called with the loop's and the item's lock held.
    func enter(_ mode: LoopMode) throws(RunLoopError) -> Int

    /// Removes it from the mode's items.
    ///
    /// Called with the loop's and the item's lock held.
    func leave(_ mode: LoopMode, slot: Int)

    /// Called after it left a mode, with no lock held.
    func didLeave(_ mode: LoopMode, of loop: HostRunLoop)
}

extension LoopItem {
    static var isToldOfMoving: Bool { false }
    var canBeWithdrawn: Bool { true }

    /// Whether the host made it for itself.
    var isHostsOwn: Bool { HostRunLoop.isHostsOwn(item: identifier) }

    /// Whether its input comes from others.
    ///
    /// It must not be left out, or anyone who can make it fault could switch it off.
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

    func didLeave(_ mode: LoopMode, of loop: HostRunLoop) {}

    /// Removes an item that was just marked invalid from every mode of every loop.
    func removeFromAllLoops() {
        while true {
            lockItem()
            // In a forked child, items stay in the loops inherited from the parent.
            let loop = memberships.firstLoop { !$0.isInheritedByFork }
            let wasWithdrawn = memberships.wasWithdrawn
            unlockItem()
            guard let loop else {
                if wasWithdrawn { WithdrawalTable.shared.endAll(of: identifier) }
                return
            }
            var left: [LoopMode] = []
            loop.lock.lock()
            lockItem()
            // `self` keeps the item alive: nothing is released here.
            loop.takeOutWithItemLock(self) { mode in
                if Self.isToldOfMoving { left.append(mode) }
            }
            unlockItem()
            loop.lock.unlock()
            for mode in left {
                didLeave(mode, of: loop)
            }
        }
    }

    /// Removes an item that was just marked invalid from every mode of a loop; returns whether it is in no loop any more, nor withdrawn.
    ///
    /// Called with both locks held, for a kind of item that need not be told of it.
    @inline(__always)
    func removeWithLocks(from loop: HostRunLoop) -> Bool {
        // `self` keeps the item alive: nothing is released here.
        loop.takeOutWithItemLock(self) { _ in }
        return memberships.areOver && !memberships.wasWithdrawn
    }
}
