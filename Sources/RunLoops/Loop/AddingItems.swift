import LinuxSystem
import Synchronization

/// Adding and removing items.
extension HostRunLoop {
    /// Adds an item to a mode.
    ///
    /// Timers and ports are served even if the loop is asleep now. A source and an observer do not wake it, unless commands wait. The
    /// `schedule` closure of a source is called once for every mode in which the source is new. Callable from any thread.
    ///
    /// Ends the process if the item's closure belongs to an actor whose code does not run on the loop's thread, such as the main actor on
    /// another loop than the main one.
    ///
    /// - Parameters:
    ///   - item: The item; nothing happens if it is invalid or in the mode already.
    ///   - mode: The mode, which is made if it is new, or `.common`.
    /// - Returns: Whether it was added, or why not.
    @discardableResult
    public func add(_ item: Item, to mode: Mode = .default) -> AddResult {
        do throws(RunLoopError) {
            return try item.join(self, in: mode)
        } catch {
            return .refused(error)
        }
    }

    /// Adds a port source to a mode, like other items, or throws the kernel's error.
    ///
    /// This call checks whether a socket is shared by many peers: call `listen` or `connect` before. Callable from any thread.
    ///
    /// - Parameters:
    ///   - port: The port source; nothing happens if it is invalid or in the mode already.
    ///   - mode: The mode, which is made if it is new, or `.common`.
    /// - Returns: Whether it was added, or why not.
    /// - Throws: `RunLoopError` if the kernel cannot wait for the descriptor: it is a regular file, closed, or in the mode already with
    ///   another source.
    @discardableResult
    public func add(_ port: PortSource, to mode: Mode = .default) throws(RunLoopError) -> AddResult {
        try port.join(self, in: mode)
    }

    /// Adds a message port to a mode, like other items, or throws the kernel's error.
    ///
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - port: The port; nothing happens if it is invalid or in the mode already.
    ///   - mode: The mode, which is made if it is new, or `.common`.
    /// - Returns: Whether it was added, or why not.
    /// - Throws: `RunLoopError` if the kernel has no memory or no watches left.
    @discardableResult
    public func add(_ port: MessagePort, to mode: Mode = .default) throws(RunLoopError) -> AddResult {
        try port.join(self, in: mode)
    }

    /// Removes an item from a mode; it stays valid and can be added again.
    ///
    /// The `cancel` closure of a source is called once for every mode that the source leaves. Input of a port and commands of a
    /// command source continue to wait. Callable from any thread.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - mode: The mode, or `.common` for all common modes if it was added to those.
    public func remove(_ item: Item, from mode: Mode = .default) {
        item.part(from: self, in: mode)
    }

    /// Whether an item is in a mode.
    ///
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - mode: The mode, or `.common` to ask whether it was added to the common modes.
    /// - Returns: Whether it is there.
    public func contains(_ item: Item, in mode: Mode = .default) -> Bool {
        item.isMember(of: self, in: mode)
    }

    // MARK: For every kind of item

    /// Adds an item to a mode, or to all common ones.
    ///
    /// - Returns: The result, and the modes in which the item is new.
    @inline(__always)
    func insert<Item: LoopItem>(
        _ item: Item,
        into mode: Mode
    ) throws(RunLoopError) -> (result: AddResult, entered: [LoopMode]) {
        requireOwnProcess(to: "add an item to")
        require(item.isolation, for: item.label)
        // No closure here, because adding a timer takes only fifty nanoseconds.
        lock.lock()
        defer { lock.unlock() }
        guard !modes.isClosed else { return (.loopEnded, []) }
        guard item.isValid else { return (.invalidItem, []) }
        if withdrawals.mayConcern, let result = withhold(item, in: mode) {
            return (result, [])
        }
        return try place(item, in: mode)
    }

    /// Puts an item into a mode, or into all common ones, whether it is withheld or not.
    ///
    /// Called with the lock held.
    @inline(__always)
    func place<Item: LoopItem>(
        _ item: Item,
        in mode: Mode
    ) throws(RunLoopError) -> (result: AddResult, entered: [LoopMode]) {
        if let target = modes.known(mode) {
            let outcome = target.with { mode in
                Result { () throws(RunLoopError) in try insert(item, intoOne: mode) }
            }
            return try outcome.get()
        }
        guard mode == .common else { return try insert(item, intoOne: loopMode(creating: mode)) }
        return try insertIntoCommonModes(item)
    }

    /// Inserts an item into all common modes; called with the lock held.
    @inline(never)
    private func insertIntoCommonModes<Item: LoopItem>(
        _ item: Item
    ) throws(RunLoopError) -> (result: AddResult, entered: [LoopMode]) {
        guard canTake(item) else { return (.inAnotherLoop, []) }
        item.withItemLock { item.memberships.beginCommon(of: self) }
        let isNew = modes.insertCommon(item)
        var entered: [LoopMode] = []
        do throws(RunLoopError) {
            for name in modes.commonNames {
                let target = loopMode(creating: name)
                if try put(item, into: target) {
                    entered.append(target)
                }
            }
        } catch {
            for target in entered {
                _ = take(item, outOf: target)
            }
            if isNew { _ = takeOutOfCommonItems(item) }
            throw error
        }
        if entered.isEmpty, !item.isValid {
            // Another thread has invalidated it meanwhile, and did not find it here.
            _ = takeOutOfCommonItems(item)
            return (.invalidItem, [])
        }
        return (isNew || !entered.isEmpty ? .added : .alreadyThere, entered)
    }

    /// Inserts an item into one mode; called with the lock held.
    @inline(__always)
    private func insert<Item: LoopItem>(
        _ item: Item,
        intoOne target: LoopMode
    ) throws(RunLoopError) -> (result: AddResult, entered: [LoopMode]) {
        guard try put(item, into: target) else { return (canTake(item) ? .alreadyThere : .inAnotherLoop, []) }
        return (.added, Item.isToldOfMoving ? [target] : [])
    }

    /// Removes an item from a mode, or from all common ones if it was added to those, and tells it.
    func takeOut<Item: LoopItem>(_ item: Item, of mode: Mode) {
        guard !isInheritedByFork else { return }
        var ended: Withdrawal?
        // Released after unlocking.
        defer { withExtendedLifetime(ended) {} }
        let left = lock.withLock { () -> [LoopMode] in
            if let withdrawal = withdrawals[item.identifier] {
                ended = withdrawals.removeMode(mode, from: withdrawal, of: self)
                return []
            }
            guard mode == .common else {
                guard let target = modes.known(mode)?.object ?? modes[mode], take(item, outOf: target) else {
                    return []
                }
                return [target]
            }
            guard takeOutOfCommonItems(item) else { return [] }
            return modes.commonNames.compactMap { name in
                guard let target = modes[name], take(item, outOf: target) else { return nil }
                return target
            }
        }
        for mode in left {
            item.didLeave(mode, of: self)
        }
    }

    /// Whether an item is in a mode, or was added to the common ones.
    func holds<Item: LoopItem>(_ item: Item, in mode: Mode) -> Bool {
        lock.withLock {
            guard mode != .common else { return modes.commonItem(item.identifier) != nil }
            guard let target = modes[mode] else { return false }
            return item.withItemLock { item.memberships.membership(in: target) != nil }
        }
    }

    /// Declares a mode common and adds all common items to it.
    ///
    /// This cannot be undone. Callable from any thread.
    ///
    /// - Parameter mode: The mode.
    /// - Returns: The common items that are not in the mode: port sources whose descriptor the kernel refused, or whose descriptor is in
    ///   the mode already. They stay in the other common modes.
    @discardableResult
    public func addCommonMode(_ mode: Mode) -> [Item] {
        guard mode != .common else { return [] }
        requireOwnProcess(to: "declare a common mode of")
        var refused: [Item] = []
        let entered = lock.withLock { () -> [(source: Source, mode: LoopMode)] in
            guard !modes.isClosed, modes.declareCommon(mode), modes.hasValidCommonItems else { return [] }
            let target = loopMode(creating: mode)
            var entered: [(source: Source, mode: LoopMode)] = []
            for (_, item) in modes.commonItemsInOrder {
                do throws(RunLoopError) {
                    if try put(item, into: target), let source = item as? Source { entered.append((source, target)) }
                } catch {
                    refused.append(item)
                }
            }
            return entered
        }
        for (source, mode) in entered {
            source.didEnter(mode, of: self)
        }
        interruptSleep(ifLaterThan: .min)
        return refused
    }

    // MARK: With the lock held

    /// Returns a mode, made now if it is new.
    ///
    /// Called with the lock held.
    func loopMode(creating name: Mode) -> LoopMode {
        if let mode = modes.find(name) { return mode }
        let mode = modes.make(name)
        // A thread may wait for a mode of this name.
        interruptSleep(ifLaterThan: .min)
        return mode
    }

    /// Takes an item out of a mode; returns whether it was there.
    ///
    /// Called with the lock held.
    func take(_ item: some LoopItem, outOf mode: LoopMode) -> Bool {
        item.withItemLock {
            guard let membership = item.memberships.remove(from: mode) else { return false }
            remove(item, membership)
            return true
        }
    }

    /// Takes an item out of the common ones, but not out of its modes; returns whether it was one of them.
    ///
    /// Called with the lock held; the caller keeps the item alive.
    private func takeOutOfCommonItems(_ item: some LoopItem) -> Bool {
        guard modes.removeCommon(item.identifier) else { return false }
        item.withItemLock { item.memberships.endCommon(of: self) }
        return true
    }

    /// Puts an item into a mode; returns whether it is new there.
    ///
    /// Called with the lock held.
    @inline(__always)
    private func put<Item: LoopItem>(_ item: Item, into mode: LoopMode) throws(RunLoopError) -> Bool {
        item.lockItem()
        defer { item.unlockItem() }
        guard item.isValid, isHome(to: item), item.memberships.membership(in: mode) == nil else { return false }
        let slot = try item.enter(mode)
        item.memberships.append(Membership(loop: Uncounted(self), mode: Uncounted(mode), slot: slot))
        if Item.keepsModeAlive { mode.countEntry() }
        return true
    }

    /// Whether an item may be in this loop: timers and observers belong to one loop at most.
    func canTake(_ item: some LoopItem) -> Bool {
        item.withItemLock { isHome(to: item) }
    }

    /// Like `canTake`, with the item's lock held.
    @inline(__always)
    private func isHome<Item: LoopItem>(to item: Item) -> Bool {
        guard Item.belongsToOneLoop, let first = item.memberships.first else { return true }
        return first.loop.refers(to: self)
    }

    /// Takes an item out of all modes of this loop, and calls `body` with each.
    ///
    /// Called with the lock held; the caller keeps the item alive.
    func takeOutOfAllModes<Item: LoopItem>(_ item: Item, _ body: (LoopMode) -> Void) {
        item.lockItem()
        takeOutWithItemLock(item, body)
        item.unlockItem()
    }

    /// Does the same with both locks held.
    @inline(__always)
    func takeOutWithItemLock<Item: LoopItem>(_ item: Item, _ body: (LoopMode) -> Void) {
        if item.memberships.isCommon(of: self) {
            item.memberships.endCommon(of: self)
            _ = modes.removeCommon(item.identifier)
        }
        while let membership = item.memberships.remove(from: self) {
            remove(item, membership)
            membership.mode.with(body)
        }
    }

    /// Called with both locks held, after the membership was removed from the item's.
    @inline(__always)
    private func remove<Item: LoopItem>(_ item: Item, _ membership: Membership) {
        membership.mode.with { mode in
            item.leave(mode, slot: membership.slot)
            if Item.keepsModeAlive { mode.countDeparture() }
        }
    }
}

extension HostRunLoop {
    /// The result of adding an item to a mode.
    public enum AddResult: Sendable, Hashable {
        /// The item is now in the mode, or is a common item and in all common modes.
        case added
        /// The item was there already; nothing changed.
        case alreadyThere
        /// The item was invalidated, which is final; nothing changed.
        case invalidItem
        /// The item is a timer or an observer of another loop; nothing changed.
        ///
        /// Such an item belongs to one loop at a time: first remove it from every mode of the other one.
        case inAnotherLoop
        /// The host has taken the item out, or keeps its label out: the mode was recorded, and the item is not served.
        case withheld
        /// The loop's thread has ended; nothing changed.
        case loopEnded
        /// The kernel refused the descriptor of a port; nothing changed.
        ///
        /// Only for a port that is given as a plain `Item`. Given as a port, `add` throws instead.
        case refused(RunLoopError)
    }
}
