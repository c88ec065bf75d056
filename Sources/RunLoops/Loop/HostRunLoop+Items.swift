import LinuxSystem
import Synchronization

/// Adding and removing, the same for every kind of item (run-loop items 3 and 6 to 13).
extension HostRunLoop {
    /// Adds an item to a mode, or to all common ones.
    ///
    /// - Returns: The modes in which it was not before.
    func insert<Item: LoopItem>(_ item: Item, into mode: Mode) throws(RunLoopError) -> [LoopMode] {
        try lock.withLock { () throws(RunLoopError) -> [LoopMode] in
            guard !isTornDown, item.isValid else { return [] }
            guard mode == .common else {
                let target = loopMode(creating: mode)
                return try put(item, into: target) ? [target] : []
            }
            guard canTake(item) else { return [] }
            commonItems[item.identifier] = item
            var entered: [LoopMode] = []
            do throws(RunLoopError) {
                for name in commonModes {
                    let target = loopMode(creating: name)
                    if try put(item, into: target) {
                        entered.append(target)
                    }
                }
            } catch {
                for target in entered {
                    _ = take(item, outOf: target)
                }
                commonItems[item.identifier] = nil
                throw error
            }
            return entered
        }
    }

    /// Removes an item from a mode, or from all common ones if it was added to those, and tells it.
    func withdraw<Item: LoopItem>(_ item: Item, from mode: Mode) {
        let left = lock.withLock { () -> [LoopMode] in
            guard mode == .common else {
                guard let target = modes[mode], take(item, outOf: target) else { return [] }
                return [target]
            }
            guard commonItems.removeValue(forKey: item.identifier) != nil else { return [] }
            return commonModes.compactMap { name in
                guard let target = modes[name], take(item, outOf: target) else { return nil }
                return target
            }
        }
        for mode in left {
            item.didLeave(mode, of: self)
        }
    }

    /// Says whether an item is in a mode, or was added to the common ones.
    func holds<Item: LoopItem>(_ item: Item, in mode: Mode) -> Bool {
        lock.withLock {
            guard mode != .common else { return commonItems[item.identifier] != nil }
            guard let target = modes[mode] else { return false }
            return item.withItemLock { item.memberships.contains { $0.mode === target } }
        }
    }

    /// Declares a mode common and adds all common items to it.
    ///
    /// There is no way back. Callable from any thread.
    ///
    /// - Parameter mode: The mode.
    public func addCommonMode(_ mode: Mode) {
        guard mode != .common else { return }
        let entered = lock.withLock { () -> [(source: Source, mode: LoopMode)] in
            guard !isTornDown, commonModes.insert(mode).inserted else { return [] }
            guard commonItems.values.contains(where: { $0.isValid }) else { return [] }
            let target = loopMode(creating: mode)
            var entered: [(source: Source, mode: LoopMode)] = []
            for (_, item) in commonItems.sorted(by: { $0.key < $1.key }) {
                // A descriptor that the kernel refuses, or that is there already, stays out of this mode.
                let isNew = (try? put(item, into: target)) ?? false
                if isNew, let source = item as? Source {
                    entered.append((source, target))
                }
            }
            return entered
        }
        for (source, mode) in entered {
            source.didEnter(mode, of: self)
        }
        interruptSleep(ifLaterThan: .min)
    }

    // MARK: With the lock held

    /// Returns a mode, made now if it is new.
    ///
    /// Called with the lock held.
    func loopMode(creating name: Mode) -> LoopMode {
        if let mode = modes[name] { return mode }
        let mode = LoopMode(name: name, wakeDescriptor: wakeDescriptor.rawValue)
        modes[name] = mode
        return mode
    }

    /// Takes an item out of a mode and says whether it was there.
    ///
    /// Called with the lock held.
    func take(_ item: some LoopItem, outOf mode: LoopMode) -> Bool {
        item.withItemLock {
            guard let index = item.memberships.firstIndex(where: { $0.mode === mode }) else { return false }
            let membership = item.memberships.remove(at: index)
            item.leave(mode, slot: membership.slot)
            if type(of: item).keepsModeAlive {
                mode.itemCount.subtract(1, ordering: .relaxed)
            }
            return true
        }
    }

    /// Puts an item into a mode and says whether it is new there.
    ///
    /// Called with the lock held.
    private func put(_ item: some LoopItem, into mode: LoopMode) throws(RunLoopError) -> Bool {
        guard canTake(item) else { return false }
        return try item.withItemLock { () throws(RunLoopError) -> Bool in
            guard item.isValid, !item.memberships.contains(where: { $0.mode === mode }) else { return false }
            let slot = try item.enter(mode)
            item.memberships.append(Membership(loop: self, mode: mode, slot: slot))
            if type(of: item).keepsModeAlive {
                mode.itemCount.add(1, ordering: .relaxed)
            }
            return true
        }
    }

    /// Says whether an item may be in this loop: timers and observers belong to one loop at most.
    private func canTake(_ item: some LoopItem) -> Bool {
        guard type(of: item).belongsToOneLoop else { return true }
        return item.withItemLock { item.memberships.allSatisfy { $0.loop === self } }
    }
}
