extension HostRunLoop {
    /// Work of a loop that would be lost if the process ended now.
    package enum OpenWork: Sendable {
        /// A port source that the caller considers open work.
        case port(PortSource)
        /// A source that was signalled and not performed yet, by its label.
        case source(label: String)
        /// A block or a perform that is queued, by its label.
        case block(label: String)
        /// A job of a task or an actor.
        case job
    }

    /// Looks for work that would be lost, in all modes and among withdrawn items.
    ///
    /// Dates of timers do not count.
    ///
    /// Callable from any thread. The cost grows with the number of ports and sources.
    ///
    /// - Parameter isOpenWork: Returns whether a port source is open work; called with no lock held.
    /// - Returns: The first work that was found, or nil if there is none.
    package func firstOpenWork(isOpenWork: (PortSource) -> Bool) -> OpenWork? {
        if jobs.hasJobs { return .job }
        var ports: [PortSource] = []
        let found = lock.withLock { () -> OpenWork? in
            var label: String?
            _ = blocks.contains {
                label = $0.labelIfPending
                return label != nil
            }
            if let label { return .block(label: label) }
            var signalled: Source?
            for mode in modes.all {
                mode.sources.visitAll { if $0.isSignalled, $0.isValid { signalled = $0 } }
                mode.ports.visitAll { ports.append($0) }
            }
            for withdrawal in withdrawals.all {
                if let port = withdrawal.item as? PortSource { ports.append(port) }
            }
            return signalled.map { .source(label: $0.label) }
        }
        if let found { return found }
        return ports.first { $0.isValid && isOpenWork($0) }.map { .port($0) }
    }
}

extension HostRunLoop.PortSource {
    /// Whether the item is in a mode of any loop.
    ///
    /// Callable from any thread.
    package var isInLoop: Bool { withItemLock { !memberships.isEmpty } }
}

/// The questions of a host before its first run: which items could the next process leave out?
extension HostRunLoop {
    /// The items of this loop whose label no other item has, by label; even if they are withdrawn or withheld.
    ///
    /// They can be recognised in the next process. Not among them are the host's own items, items without a label, and ports of sockets,
    /// which are never left out. Callable from any thread; looks through all items.
    package var itemsThatCanBeLeftOut: [String: UInt64] {
        let items = lock.withLock {
            var items = modes.commonItemsInOrder.map(\.value) + withdrawals.all.map(\.item)
            for mode in modes.all {
                mode.visitItems { items.append($0) }
            }
            return items
        }
        var identifiers: [String: Set<UInt64>] = [:]
        var fedByOthers: Set<UInt64> = []
        for item in items where !item.isHostsOwn && item.isValid {
            identifiers[item.label, default: []].insert(item.identifier)
            if item.isFedByOthers { fedByOthers.insert(item.identifier) }
        }
        identifiers[""] = nil
        return identifiers.compactMapValues { alike in
            guard alike.count == 1, let identifier = alike.first else { return nil }
            return fedByOthers.contains(identifier) ? nil : identifier
        }
    }
}
