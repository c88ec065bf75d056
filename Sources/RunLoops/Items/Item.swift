import Synchronization

extension HostRunLoop {
    /// What can be added to the modes of a loop: a timer, a source, a port source, an observer, a command source or a message port.
    ///
    /// It is valid until it is invalidated, which is for ever. Callable from any thread.
    public class Item: @unchecked Sendable {
        /// The identity of the item, unique in the process: what crash reports name.
        public final let identifier: UInt64
        final let name: ItemName
        /// The actor whose code its closure is; `nil` for a closure that belongs to none.
        final let isolation: (any Actor)?
        private let lock = CriticalLock()
        private let valid = Atomic<Bool>(true)
        /// In which modes of which loops it is.
        ///
        /// Protected by the item's lock; changed with the loop's lock held too.
        @safe @exclusivity(unchecked) final var memberships = Memberships()

        init(_ identifier: UInt64 = ItemIdentifier.next(), label: String, isolation: (any Actor)?) {
            self.identifier = identifier
            name = ItemName(label)
            self.isolation = isolation
        }

        /// What a crash report calls it.
        public final var label: String { name.text }

        /// Whether it will be served again: it was not invalidated, and if it fires once, it has not finished that.
        ///
        /// A message port is not valid either when the connection that it was made with was closed.
        public final var isValid: Bool { isAlive }

        /// Ends its life: it leaves every mode of every loop, and is never called again.
        ///
        /// What has come for it already is dropped: commands that wait, messages that were not delivered. Senders are told. A
        /// callout of it that is running goes on.
        public final func invalidate() { end() }

        /// The identities under which its callouts are recorded: more than its own where it stands on other items.
        package var calloutIdentifiers: [UInt64] { [identifier] }

        /// Marks it as invalid, and says whether it was valid.
        final func endLife() -> Bool { valid.exchange(false, ordering: .acquiringAndReleasing) }

        // MARK: What each kind does by itself

        /// Whether it was not invalidated.
        var isAlive: Bool { valid.load(ordering: .acquiring) }

        /// Invalidates it.
        func end() { preconditionFailure("an item of a run loop is of no kind") }

        /// Adds it to a mode of a loop, or says why not.
        func join(_ loop: HostRunLoop, in mode: Mode) throws(RunLoopError) -> AddResult {
            preconditionFailure("an item of a run loop is of no kind")
        }

        /// Removes it from a mode of a loop.
        func part(from loop: HostRunLoop, in mode: Mode) { preconditionFailure("an item of a run loop is of no kind") }

        /// Says whether it is in a mode of a loop.
        func isMember(of loop: HostRunLoop, in mode: Mode) -> Bool {
            preconditionFailure("an item of a run loop is of no kind")
        }

        // MARK: The item's lock

        /// Takes the item's lock; no lock of another item and of no loop is taken while it is held.
        @inline(__always) final func lockItem() { lock.lock() }

        /// Frees the item's lock.
        @inline(__always) final func unlockItem() { lock.unlock() }

        /// Runs `body` with the item's lock held.
        @inline(__always)
        final func withItemLock<Value, Failure>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
            try lock.withLock(body)
        }
    }
}

/// What a loop serves by itself: sources, port sources, timers and observers.
protocol LoopItem: HostRunLoop.Item {
    /// Whether it can be in one loop only.
    static var belongsToOneLoop: Bool { get }

    /// Whether it keeps its modes from being empty.
    static var keepsModeAlive: Bool { get }

    /// Whether it can be withdrawn: performs that wait for their time cannot.
    var canBeWithdrawn: Bool { get }

    /// Whether it has something to do when it has entered or left a mode.
    static var isToldOfMoving: Bool { get }

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
