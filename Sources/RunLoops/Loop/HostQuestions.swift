extension HostRunLoop {
    /// Something of a loop that would be lost if the process ended now.
    package enum OpenWork: Sendable {
        /// A port source that somebody says is open work.
        case port(PortSource)
        /// A source that was signalled and not performed yet, by its label.
        case source(label: String)
        /// A block or a perform that is queued, by its label.
        case block(label: String)
        /// A job of a task or an actor.
        case job
    }

    /// Looks for something that would be lost, in all modes and among what was withdrawn; dates of timers are none.
    ///
    /// Callable from any thread. The cost grows with the number of ports and sources.
    ///
    /// - Parameter isOpenWork: Says of a port source whether it is; called with no lock held.
    /// - Returns: What was found first; nil for nothing.
    package func firstOpenWork(isOpenWork: (PortSource) -> Bool) -> OpenWork? {
        if jobs.hasJobs { return .job }
        var ports: [PortSource] = []
        let found = lock.withLock { () -> OpenWork? in
            for block in blocks.entries where block.isPending {
                guard case .object(let object) = block else { return .block(label: PlainBlock.label) }
                return .block(label: object.name.text)
            }
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
    /// Whether it is in a mode of any loop.
    ///
    /// Callable from any thread.
    package var isInLoop: Bool { withItemLock { !memberships.isEmpty } }
}

/// What a host looks at before its first run: which items the next process could do without.
extension HostRunLoop {
    /// The items of this loop that have a label which no other has, by label; those that are withdrawn or withheld among them.
    ///
    /// They can be told apart in the next process, too. The host's own are not among them, nor is an item without a label, nor ports
    /// of sockets, which are never left out. Callable from any thread; looks through all items.
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
        return identifiers.compactMapValues { $0.count == 1 ? $0.subtracting(fedByOthers).first : nil }
    }
}
