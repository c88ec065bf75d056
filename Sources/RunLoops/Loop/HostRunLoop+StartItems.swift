/// What a host looks at before its first run: which items the next process could do without.
extension HostRunLoop {
    /// The items of this loop that have a label which no other has, by label; those that are withdrawn or withheld among them.
    ///
    /// They can be told apart in the next process, too. The host's own are not among them, nor is an item without a label, nor ports
    /// of sockets, which are never left out. Callable from any thread; looks through all items.
    package var itemsThatCanBeLeftOut: [String: UInt64] {
        let items = lock.withLock {
            var items = commonItems.values.map { $0 as any LoopItem }
            for mode in modes.values {
                items += mode.observers.map { $0 as any LoopItem }
                mode.sources.visitAll { items.append($0) }
                mode.ports.visitAll { items.append($0) }
                mode.timers.visitAll { items.append($0) }
            }
            return items + withdrawals.values.map(\.item)
        }
        var identifiers: [String: Set<UInt64>] = [:]
        var fedByOthers: Set<UInt64> = []
        for item in items where !item.isHostsOwn && item.isValid {
            identifiers[item.label, default: []].insert(item.identifier)
            if item.isFedByOthers { fedByOthers.insert(item.identifier) }
        }
        identifiers[""] = nil
        return identifiers.compactMapValues { $0.count == 1 ? $0.subtracting(fedByOthers).first : nil }
    }
}
