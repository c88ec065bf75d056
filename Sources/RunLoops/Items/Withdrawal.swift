import Synchronization

extension HostRunLoop {
    /// An item that was taken out of its loop for now: it stays valid, but is not served until it is put back.
    ///
    /// A withdrawal begins with `withdraw(item:)`, or when an item with a withheld label is added. It is over when the item is put
    /// back, is invalidated or is removed from all the modes recorded here, or when the loop's thread ends. Callable from any
    /// thread.
    package final class Withdrawal: @unchecked Sendable {
        /// The item's label.
        package let label: String
        /// What kind of item it is.
        package let kind: CalloutKind
        /// The item's identity, unique in the process.
        package let identifier: UInt64
        /// Whether its label was withheld when it was added, so that it was never served.
        package let isWithheld: Bool
        let item: any LoopItem
        /// A cycle: the loop refers to the withdrawal until it is over.
        private let loop: HostRunLoop
        /// Protected by the loop's lock.
        @safe @exclusivity(unchecked) fileprivate(set) var recordedModes: Set<Mode>

        init(_ item: any LoopItem, of loop: HostRunLoop, modes: Set<Mode>, isWithheld: Bool) {
            label = item.label
            kind = item.kind
            identifier = item.identifier
            self.isWithheld = isWithheld
            self.item = item
            self.loop = loop
            recordedModes = modes
        }

        /// The names of the modes that it is put back into; `.common` if it was added to the common modes.
        ///
        /// Adding the item to a mode or removing it from one meanwhile changes this record.
        package var modes: [Mode] {
            loop.lock.withLock { recordedModes }.sorted { $0.rawValue < $1.rawValue }
        }

        /// Whether the withdrawal is over.
        package var isOver: Bool { loop.lock.withLock { loop.withdrawals[identifier] !== self } }

        /// Puts the item back into its modes; its loop serves it, even if the loop is asleep now.
        ///
        /// A repeating timer continues at its next date and skips those that have passed. A timer that fires once fires if its date
        /// has passed. A source that was signalled meanwhile is performed. From now on the item's label no longer withholds it.
        ///
        /// - Returns: Whether it is back; `false` if the withdrawal is over, if a timer or an observer is in another loop now, or
        ///   if the kernel no longer accepts a port source's descriptor.
        @discardableResult
        package func putBack() -> Bool { loop.putBack(self) }
    }
}

/// The items of one loop that are withdrawn or withheld, and the labels that withhold an item.
///
/// Protected by the loop's lock. Removed withdrawals are returned, so that they are released after unlocking.
final class WithdrawalList: @unchecked Sendable {
    typealias Withdrawal = HostRunLoop.Withdrawal
    typealias Mode = HostRunLoop.Mode

    /// By item identifier.
    @safe @exclusivity(unchecked) private var withdrawals: [UInt64: Withdrawal] = [:]
    /// Items with these labels are recorded when they are added, and not served.
    @safe @exclusivity(unchecked) private var labels: Set<String> = []
    @safe @exclusivity(unchecked) private var sparesSockets = false
    /// The items that were put back since the labels were set; they are no longer withheld.
    @safe @exclusivity(unchecked) private var itemsPutBack: Set<UInt64> = []
    /// The number of withdrawals; also read without the lock.
    private let count = Atomic<Int>(0)

    /// Whether nothing is withdrawn or withheld.
    ///
    /// Callable without the lock.
    @inline(__always)
    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// Whether adding an item may have to record it instead.
    @inline(__always)
    var mayConcern: Bool { !labels.isEmpty || !withdrawals.isEmpty }

    /// All withdrawals.
    var all: [Withdrawal] { Array(withdrawals.values) }

    /// Returns the withdrawal of an item.
    subscript(identifier: UInt64) -> Withdrawal? { withdrawals[identifier] }

    /// Returns whether an item is to be withheld because of its label.
    func isWithheld(_ item: some LoopItem) -> Bool {
        labels.contains(item.label) && !itemsPutBack.contains(item.identifier) && !(sparesSockets && item.isFedByOthers)
    }

    /// Replaces the labels that withhold an item.
    func withhold(_ labels: Set<String>, sparingSockets: Bool) {
        self.labels = labels
        sparesSockets = sparingSockets
        itemsPutBack = []
    }

    /// Records that an item was put back, so that its label no longer withholds it.
    func notePutBack(_ identifier: UInt64) {
        if !labels.isEmpty { itemsPutBack.insert(identifier) }
    }

    /// Records an item that is not to be served.
    func record(_ item: any LoopItem, of loop: HostRunLoop, in modes: Set<Mode>, isWithheld: Bool) -> Withdrawal {
        let withdrawal = Withdrawal(item, of: loop, modes: modes, isWithheld: isWithheld)
        withdrawals[item.identifier] = withdrawal
        count.store(withdrawals.count, ordering: .releasing)
        WithdrawalTable.shared.insert(item.identifier, of: loop)
        return withdrawal
    }

    /// Removes a withdrawal and returns it.
    func end(_ identifier: UInt64, of loop: HostRunLoop) -> Withdrawal? {
        guard let withdrawal = withdrawals.removeValue(forKey: identifier) else { return nil }
        count.store(withdrawals.count, ordering: .releasing)
        WithdrawalTable.shared.remove(identifier, of: loop)
        return withdrawal
    }

    /// Removes a mode from the record of an item; returns the withdrawal if that was the last mode.
    func removeMode(_ mode: Mode, from withdrawal: Withdrawal, of loop: HostRunLoop) -> Withdrawal? {
        withdrawal.recordedModes.remove(mode)
        return withdrawal.recordedModes.isEmpty ? end(withdrawal.identifier, of: loop) : nil
    }

    /// Removes all withdrawals and returns them in the order in which their items were made.
    func removeAll(of loop: HostRunLoop) -> [Withdrawal] {
        let all = withdrawals.sorted { $0.key < $1.key }.map(\.value)
        for withdrawal in all {
            _ = end(withdrawal.identifier, of: loop)
        }
        return all
    }
}

/// The loops that have withdrawn an item, by item.
///
/// Invalidating an item ends its withdrawals.
final class WithdrawalTable: @unchecked Sendable {
    static let shared = WithdrawalTable()

    /// No other lock is taken while it is held.
    private let lock = CriticalLock()
    /// Protected by `lock`.
    ///
    /// An item may be in several loops.
    private var loops: [UInt64: [HostRunLoop]] = [:]

    func insert(_ identifier: UInt64, of loop: HostRunLoop) {
        lock.withLock { loops[identifier, default: []].append(loop) }
    }

    /// The caller keeps the loop alive.
    func remove(_ identifier: UInt64, of loop: HostRunLoop) {
        lock.withLock {
            loops[identifier]?.removeAll { $0 === loop }
            if loops[identifier]?.isEmpty == true { loops[identifier] = nil }
        }
    }

    /// Ends the withdrawals of an item that was invalidated.
    func endAll(of identifier: UInt64) {
        for loop in lock.withLock({ loops[identifier] ?? [] }) where !loop.isInheritedByFork {
            // Released here, after unlocking.
            _ = loop.lock.withLock { loop.withdrawals.end(identifier, of: loop) }
        }
    }
}

/// Taking items out of a loop without invalidating them: for items that fault repeatedly, and for a start in safe mode.
extension HostRunLoop {
    /// Takes an item out of all modes of this loop; it stays valid and can be put back.
    ///
    /// From now on it is not served: not later in the running pass, not for an event that was already harvested, not for a date
    /// that has come. If one of its callouts is running, that callout continues. A source's `cancel` closure is called for every
    /// mode; its `schedule` closure is called when it is put back. Adding the item to a mode or removing it from one meanwhile is
    /// recorded and takes effect when it is put back. A withdrawn item does not keep its modes from being empty.
    ///
    /// May be called on any thread, also by the abandon handler for the item that has just faulted. Looks through all items of the
    /// loop. A message port and a command source are built from items with their own identifiers; a message port has two.
    ///
    /// - Parameter identifier: The item, as in `AbandonedCallout.item`.
    /// - Returns: The withdrawal, which can put the item back. `nil` if the loop has no such source, port source, timer or
    ///   observer: the identifier is that of a block, a perform or the main queue, of an item of the host's own, or of one that was
    ///   removed, invalidated or withdrawn before.
    @discardableResult
    package func withdraw(item identifier: UInt64) -> Withdrawal? {
        guard !isInheritedByFork else { return nil }
        var left: [LoopMode] = []
        let withdrawal = lock.withLock { () -> Withdrawal? in
            guard let item = item(identifier), item.canBeWithdrawn, !item.isHostsOwn else { return nil }
            var recorded: Set<Mode> = []
            let isCommon = modes.commonItem(identifier) != nil
            if isCommon { recorded.insert(.common) }
            let isValid = item.withItemLock {
                item.memberships.wasWithdrawn = true
                return item.isValid
            }
            // Another thread is invalidating it: it leaves by itself.
            guard isValid else { return nil }
            takeOutOfAllModes(item) { mode in
                left.append(mode)
                if !isCommon || !modes.isCommon(mode.name) { recorded.insert(mode.name) }
            }
            return withdrawals.record(item, of: self, in: recorded, isWithheld: false)
        }
        guard let withdrawal else { return nil }
        for mode in left {
            withdrawal.item.didLeave(mode, of: self)
        }
        // It may have been invalidated after the check above and before the record was visible to that thread.
        if !withdrawal.item.isValid { WithdrawalTable.shared.endAll(of: identifier) }
        return withdrawal
    }

    /// From now on, withholds items with certain labels when they are added: they are recorded and not served.
    ///
    /// This is for a start after repeated faults: the program adds its items as usual, and those that faulted stay out. Not
    /// affected are items that are already in the loop, performs, blocks, and items that were put back since the last call. `add`
    /// returns `.withheld`. Callable from any thread.
    ///
    /// - Parameter labels: The labels, which replace those of the last call; an empty set withholds nothing more. Items that are
    ///   already withheld stay so until they are put back.
    package func withhold(itemsLabelled labels: Set<String>) {
        withhold(itemsLabelled: labels, sparingSockets: false)
    }

    /// The same, but if asked to it spares ports of sockets and message ports: they are served despite their labels.
    package func withhold(itemsLabelled labels: Set<String>, sparingSockets: Bool) {
        lock.withLock { withdrawals.withhold(labels, sparingSockets: sparingSockets) }
    }

    /// The items that are withheld because of their labels, in the order in which they were made.
    package var withheldItems: [Withdrawal] { withdrawnItems.filter(\.isWithheld) }

    /// All items that are withdrawn or withheld, in the order in which they were made.
    package var withdrawnItems: [Withdrawal] {
        lock.withLock { withdrawals.all }.sorted { $0.identifier < $1.identifier }
    }

    // MARK: With the lock held

    /// Records an item that is being added if it is not to be served; returns `nil` if it is to be served.
    ///
    /// Called with the lock held.
    func withhold(_ item: some LoopItem, in mode: Mode) -> AddResult? {
        if let withdrawal = withdrawals[item.identifier] {
            return withdrawal.recordedModes.insert(mode).inserted ? .withheld : .alreadyThere
        }
        guard
            withdrawals.isWithheld(item), item.canBeWithdrawn, !item.isHostsOwn, canTake(item)
        else { return nil }
        let isHere = item.withItemLock {
            item.memberships.wasWithdrawn = true
            return item.memberships.all.contains { $0.loop.refers(to: self) }
        }
        // An item that was already in this loop is served in its new mode, too.
        guard !isHere else { return nil }
        _ = withdrawals.record(item, of: self, in: [mode], isWithheld: true)
        if item.isValid { return .withheld }
        // It was invalidated meanwhile by a thread that did not find the record.
        _ = withdrawals.end(item.identifier, of: self)
        return .invalidItem
    }

    /// Finds an item that is in this loop.
    ///
    /// Called with the lock held.
    private func item(_ identifier: UInt64) -> (any LoopItem)? {
        if let item = modes.commonItem(identifier) { return item }
        for mode in modes.all {
            var found: (any LoopItem)?
            mode.visitItems { if $0.identifier == identifier { found = $0 } }
            if let found { return found }
        }
        return nil
    }

    // MARK: On the loop's thread

    /// Whether an item was withdrawn after the pass had found it.
    @inline(__always)
    func isWithdrawn(_ item: some LoopItem) -> Bool {
        guard !withdrawals.isEmpty else { return false }
        return lock.withLock { withdrawals[item.identifier] != nil }
    }

    // MARK: Putting back

    /// Puts an item back and returns the modes whose entry it must be told of; `nil` if that was not possible.
    ///
    /// Called with the lock held.
    private func placeBack(_ withdrawal: Withdrawal) -> [LoopMode]? {
        let item = withdrawal.item
        guard withdrawals[withdrawal.identifier] === withdrawal, item.isValid, !modes.isClosed else { return nil }
        (item as? Timer)?.skipMissedFires()
        var entered: [LoopMode] = []
        do throws(RunLoopError) {
            for mode in withdrawal.recordedModes.sorted(by: { $0.rawValue < $1.rawValue }) {
                let placed = try place(item, in: mode)
                guard placed.result == .added || placed.result == .alreadyThere else { return nil }
                entered += placed.entered
            }
        } catch {
            takeOutOfAllModes(item) { _ in }
            return nil
        }
        withdrawals.notePutBack(withdrawal.identifier)
        return entered
    }

    /// Puts an item back; returns whether that was possible.
    func putBack(_ withdrawal: Withdrawal) -> Bool {
        guard !isInheritedByFork else { return false }
        var ended: Withdrawal?
        let entered = lock.withLock { () -> [LoopMode]? in
            let entered = placeBack(withdrawal)
            if entered != nil { ended = withdrawals.end(withdrawal.identifier, of: self) }
            return entered
        }
        guard let entered else { return false }
        withExtendedLifetime(ended) {}
        for mode in entered {
            (withdrawal.item as? Source)?.didEnter(mode, of: self)
        }
        if let timer = withdrawal.item as? Timer {
            interruptSleep(ifLaterThan: timer.withItemLock { timer.latestFireTime })
        }
        if let source = withdrawal.item as? Source, source.isSignalled {
            noteForeignWork()
            wakeUp()
        }
        return true
    }
}
