import Synchronization

extension HostRunLoop {
    /// An item that was taken out of its loop for the time being: it is valid, and is not served until it is put back.
    ///
    /// Life cycle: made by `withdraw(item:)`, or when an item is added whose label is withheld -> over: the item was put back or
    /// invalidated, or removed from all the modes that are recorded here, or the loop's thread has ended. Callable from any
    /// thread.
    package final class Withdrawal: @unchecked Sendable {
        /// The item's label.
        package let label: String
        /// What kind of item it is.
        package let kind: CalloutKind
        /// The item's identity, unique in the process.
        package let identifier: UInt64
        /// Whether it was withheld because of its label when it was added, and never served.
        package let isWithheld: Bool
        let item: any LoopItem
        /// Until the withdrawal is over the loop refers to it, too.
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

        /// The modes that it is put back into, by name; `.common` if it was added to the common modes.
        ///
        /// What is added or removed meanwhile counts: it is recorded here.
        package var modes: [Mode] {
            loop.lock.withLock { recordedModes }.sorted { $0.rawValue < $1.rawValue }
        }

        /// Whether the item is still out of the loop.
        package var isOver: Bool { loop.lock.withLock { loop.withdrawals[identifier] !== self } }

        /// Puts the item back into its modes; its loop serves it, even if it sleeps now.
        ///
        /// A repeating timer goes on at its next date: those that have passed are left out. A timer that fires once and whose
        /// date has passed fires. A source that was signalled meanwhile is performed. From now on the item's label does not
        /// withhold it any more.
        ///
        /// - Returns: Whether it is back; `false` if the withdrawal is over, a timer or an observer is in another loop now, or
        ///   the kernel does not take a port source's descriptor any more.
        @discardableResult
        package func putBack() -> Bool { loop.putBack(self) }
    }
}

/// What was withdrawn from one loop, or withheld, and not put back; and which labels withhold an item.
///
/// Protected by the loop's lock. What is removed is returned, so that it is released after unlocking.
final class WithdrawalList: @unchecked Sendable {
    typealias Withdrawal = HostRunLoop.Withdrawal
    typealias Mode = HostRunLoop.Mode

    /// By item identifier.
    @safe @exclusivity(unchecked) private var withdrawals: [UInt64: Withdrawal] = [:]
    /// Items with these labels are recorded when they are added, and not served.
    @safe @exclusivity(unchecked) private var labels: Set<String> = []
    @safe @exclusivity(unchecked) private var sparesSockets = false
    /// The items that were put back since: their labels do not count any more.
    @safe @exclusivity(unchecked) private var itemsPutBack: Set<UInt64> = []
    /// How many there are: read without the lock, too.
    private let count = Atomic<Int>(0)

    /// Whether nothing is withdrawn or withheld.
    ///
    /// Callable without the lock.
    @inline(__always)
    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// Whether an item that is added may have to be recorded instead.
    @inline(__always)
    var mayConcern: Bool { !labels.isEmpty || !withdrawals.isEmpty }

    /// All withdrawals.
    var all: [Withdrawal] { Array(withdrawals.values) }

    /// Returns the withdrawal of an item.
    subscript(identifier: UInt64) -> Withdrawal? { withdrawals[identifier] }

    /// Says whether an item is to be withheld because of its label.
    func isWithheld(_ item: some LoopItem) -> Bool {
        labels.contains(item.label) && !itemsPutBack.contains(item.identifier) && !(sparesSockets && item.isFedByOthers)
    }

    /// Changes the labels that withhold an item.
    func withhold(_ labels: Set<String>, sparingSockets: Bool) {
        self.labels = labels
        sparesSockets = sparingSockets
        itemsPutBack = []
    }

    /// Has an item not withheld any more.
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

    /// Forgets a withdrawal and returns it.
    func end(_ identifier: UInt64, of loop: HostRunLoop) -> Withdrawal? {
        guard let withdrawal = withdrawals.removeValue(forKey: identifier) else { return nil }
        count.store(withdrawals.count, ordering: .releasing)
        WithdrawalTable.shared.remove(identifier, of: loop)
        return withdrawal
    }

    /// Removes a mode from the record of an item; returns the withdrawal if that was the last.
    func removeMode(_ mode: Mode, from withdrawal: Withdrawal, of loop: HostRunLoop) -> Withdrawal? {
        withdrawal.recordedModes.remove(mode)
        return withdrawal.recordedModes.isEmpty ? end(withdrawal.identifier, of: loop) : nil
    }

    /// Forgets all, and returns them in the order in which their items were made.
    func removeAll(of loop: HostRunLoop) -> [Withdrawal] {
        let all = withdrawals.sorted { $0.key < $1.key }.map(\.value)
        for withdrawal in all {
            _ = end(withdrawal.identifier, of: loop)
        }
        return all
    }
}

/// The withdrawals of all loops by item: whoever invalidates an item ends them.
final class WithdrawalTable: @unchecked Sendable {
    static let shared = WithdrawalTable()

    /// Nothing is taken while it is held.
    private let lock = CriticalLock()
    /// Protected by `lock`.
    ///
    /// An item may be in several loops.
    private var loops: [UInt64: [HostRunLoop]] = [:]

    func insert(_ identifier: UInt64, of loop: HostRunLoop) {
        lock.withLock { loops[identifier, default: []].append(loop) }
    }

    /// Called by whoever keeps the loop alive.
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

/// Taking items out of a loop without invalidating them: for what faults again and again, and for a start in safe mode.
extension HostRunLoop {
    /// Takes an item out of all modes of this loop; it stays valid, and can be put back.
    ///
    /// From now on it is not served: neither later in the pass that runs now, nor from an event that was harvested or a date
    /// that has come. A callout of it that runs now goes on. A source's `cancel` closure is called for every mode, and its
    /// `schedule` closure when it is put back. Adding the item to a mode and removing it from one is recorded meanwhile, and
    /// has its effect when it is put back. It does not keep its modes from being empty.
    ///
    /// To be called on any thread, also by the abandon handler for the item that has just faulted. Looks through all items of
    /// the loop. A message port and a command source stand on items with identifiers of their own; a message port has two.
    ///
    /// - Parameter identifier: The item: what `AbandonedCallout.item` names.
    /// - Returns: What puts it back; `nil` if no source, port source, timer or observer with the identifier is in the loop: it
    ///   is a block, a perform or the main queue, is the host's own, or was removed, invalidated or withdrawn before.
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
            // It leaves by itself: somebody is invalidating it.
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
        // Invalidated between the look and the record, by somebody who saw neither.
        if !withdrawal.item.isValid { WithdrawalTable.shared.endAll(of: identifier) }
        return withdrawal
    }

    /// Withholds items that are added from now on and have one of some labels: they are recorded and not served.
    ///
    /// That is for a start after a fault that came again and again: the program adds its items as ever, and those that faulted
    /// stay out. What is in the loop already is not affected, nor are performs and blocks, nor what was put back since the
    /// last call. `add` returns `.withheld`. Callable from any thread.
    ///
    /// - Parameter labels: The labels; they take the place of those of the last call, and an empty set ends it. Items that are
    ///   withheld already stay so until they are put back.
    package func withhold(itemsLabelled labels: Set<String>) {
        withhold(itemsLabelled: labels, sparingSockets: false)
    }

    /// The same; ports of sockets and message ports are served all the same, if that is asked for.
    package func withhold(itemsLabelled labels: Set<String>, sparingSockets: Bool) {
        lock.withLock { withdrawals.withhold(labels, sparingSockets: sparingSockets) }
    }

    /// The items that were withheld because of their labels and not put back, in the order in which they were made.
    package var withheldItems: [Withdrawal] { withdrawnItems.filter(\.isWithheld) }

    /// All items that were withdrawn or withheld and not put back, in the order in which they were made.
    package var withdrawnItems: [Withdrawal] {
        lock.withLock { withdrawals.all }.sorted { $0.identifier < $1.identifier }
    }

    // MARK: With the lock held

    /// Records that an item is added, if it is not to be served; `nil` if it is.
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
            return item.memberships.all.contains { $0.loop === self }
        }
        // One that was here before is served in its new mode, too.
        guard !isHere else { return nil }
        _ = withdrawals.record(item, of: self, in: [mode], isWithheld: true)
        if item.isValid { return .withheld }
        // Invalidated meanwhile, by somebody who did not find the record.
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

    /// Whether an item was withdrawn since the pass has found it.
    @inline(__always)
    func isWithdrawn(_ item: some LoopItem) -> Bool {
        guard !withdrawals.isEmpty else { return false }
        return lock.withLock { withdrawals[item.identifier] != nil }
    }

    // MARK: Putting back

    /// Puts an item back and returns the modes that it has to be told of; `nil` if that was not possible.
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

    /// Puts an item back, and says whether that was possible.
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
